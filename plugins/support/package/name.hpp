// The names of runner packages.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace plugins::package {

struct Name {
  std::string version;  // 2 to 4 numbers with dots
  std::string stem;     // what stands before the version, without its dash
};

// Takes `actions-runner-linux-x64-2.331.0.tar.gz` apart. Nothing if it does not end with .tar.gz or .zip, or
// if its last dash-separated part is no version.
inline std::optional<Name> parse_name(std::string_view file) {
  if (file.size() > 255) return std::nullopt;
  for (const std::string_view ending : {".tar.gz", ".zip"}) {
    if (!file.ends_with(ending)) continue;
    file.remove_suffix(ending.size());
    const auto dash = file.rfind('-');
    if (dash == std::string_view::npos || dash == 0) return std::nullopt;
    const auto version = file.substr(dash + 1);
    int numbers = 1;
    std::size_t digits = 0;
    for (const char c : version) {
      if (c == '.') {
        if (digits == 0) return std::nullopt;
        digits = 0;
        ++numbers;
      } else if (c < '0' || c > '9' || ++digits > 9) {
        return std::nullopt;
      }
    }
    if (digits == 0 || numbers < 2 || numbers > 4) return std::nullopt;
    return Name{std::string(version), std::string(file.substr(0, dash))};
  }
  return std::nullopt;
}

// The digest in lower case if it is one (64 hex digits), else an empty text.
inline std::string normal_sha256(std::string_view text) {
  if (text.size() != 64) return {};
  std::string digest(text);
  for (char& c : digest) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
    if ((c < '0' || c > '9') && (c < 'a' || c > 'f')) return {};
  }
  return digest;
}

}  // namespace plugins::package
