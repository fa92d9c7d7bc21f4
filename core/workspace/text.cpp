#include "workspace/text.hpp"

#include <cstdint>

namespace agent::workspace {

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto lead = static_cast<unsigned char>(text.front());
    if (lead < 0x80) {
      text.remove_prefix(1);
      continue;
    }
    const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return false;
    std::uint32_t point = lead & (0x7FU >> size);
    for (std::size_t i = 1; i < size; ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if ((byte & 0xC0U) != 0x80) return false;
      point = (point << 6U) | (byte & 0x3FU);
    }
    const bool overlong = (size == 3 && point < 0x800) || (size == 4 && point < 0x10000);
    if (overlong || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) return false;
    text.remove_prefix(size);
  }
  return true;
}

}  // namespace agent::workspace
