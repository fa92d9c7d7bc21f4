// Between the C++ text types and the views of the ABI.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rmgr/abi/base.h"

namespace rmgr {

// The view lives as long as what it was made from.
[[nodiscard]] inline rmgr_str to_abi(std::string_view text) noexcept { return {text.data(), text.size()}; }
[[nodiscard]] inline std::string_view from_abi(rmgr_str text) noexcept {
  return text.data == nullptr ? std::string_view{} : std::string_view{text.data, text.size};
}

namespace detail {

// Views of each element; they live as long as `texts`.
[[nodiscard]] inline std::vector<rmgr_str> views(const std::vector<std::string>& texts) {
  std::vector<rmgr_str> out;
  out.reserve(texts.size());
  for (const std::string& text : texts)
    out.push_back(to_abi(text));
  return out;
}

// The size member that every ABI struct begins with.
template <class T>
[[nodiscard]] constexpr std::uint32_t size_of() noexcept {
  return static_cast<std::uint32_t>(sizeof(T));
}

}  // namespace detail
}  // namespace rmgr
