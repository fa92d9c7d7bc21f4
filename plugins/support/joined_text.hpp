// Texts one after the other, made by the compiler: a component's schema is needed before any constructor
// runs.
#pragma once

#include <array>
#include <string_view>

namespace plugins {

template <const std::string_view&... texts>
struct Joined {
  static constexpr auto characters = [] {
    std::array<char, (texts.size() + ... + 0)> all{};
    std::size_t at = 0;
    const auto add = [&](std::string_view text) {
      for (const char c : text)
        all[at++] = c;
    };
    (add(texts), ...);
    return all;
  }();
  static constexpr std::string_view text{characters.data(), characters.size()};
};

}  // namespace plugins
