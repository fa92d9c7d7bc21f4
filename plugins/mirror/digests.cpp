#include "mirror/digests.hpp"

#include "support/package/name.hpp"

namespace plugins::mirror {

std::string find_digest(std::string_view text, std::string_view file, bool alone) {
  std::string found;
  while (!text.empty()) {
    const auto end = text.find('\n');
    auto line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    while (line.ends_with('\r') || line.ends_with(' '))
      line.remove_suffix(1);
    const auto digest = package::normal_sha256(line.substr(0, line.find(' ')));
    if (digest.empty()) continue;
    auto name = line.substr(digest.size());
    if (name.starts_with("  ") || name.starts_with(" *")) {
      name.remove_prefix(2);
      if (name.starts_with("./")) name.remove_prefix(2);
      if (name != file) continue;
    } else if (!name.empty() || !alone) {
      continue;
    }
    if (!found.empty() && found != digest) return {};
    found = digest;
  }
  return found;
}

}  // namespace plugins::mirror
