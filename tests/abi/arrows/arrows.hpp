// The include rules of the house: which folder may include what.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace arrows {

struct Include {
  std::string path;
  bool angled = false;  // <path>, else "path"
};

// Every #include of a source text.
std::vector<Include> includes_of(std::string_view source);

// Why the file (named from the root of the repository) must not include that; nothing if it may.
std::optional<std::string> refusal(std::string_view file, const Include& include);

}  // namespace arrows
