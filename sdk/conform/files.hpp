// Reading files that may vanish or fail while they are read, such as those of /proc.
#pragma once

#include <array>
#include <fstream>
#include <optional>
#include <string>

namespace rmgr::conform {

// Nothing for a file that cannot be read or is larger than `most` bytes.
[[nodiscard]] inline std::optional<std::string> read_file(const std::string& path,
                                                          std::size_t most = std::size_t{64} << 20U) {
  std::ifstream in(path, std::ios::binary);
  std::string text;
  std::array<char, 4096> buffer{};
  while (in.read(buffer.data(), buffer.size()) || in.gcount() > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > most) return std::nullopt;
  }
  return in.is_open() && !in.bad() ? std::optional(std::move(text)) : std::nullopt;
}

}  // namespace rmgr::conform
