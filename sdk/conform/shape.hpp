// How the structs of this host look to the plugin: those of an older, of this or of a coming minor.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>

#include "conform/witness.hpp"
#include "rmgr/abi/base.h"

namespace rmgr::conform {

struct Shape {
  std::uint16_t minor = RMGR_ABI_MINOR;
  std::uint32_t padding = 0;  // bytes that a coming minor adds to each struct, at most most_padding
};
inline constexpr std::uint32_t most_padding = 64;
inline constexpr unsigned char padding_byte = 0xA5;

// Set once, before the library is initialized.
[[nodiscard]] inline Shape& shape() {
  static Shape one;
  return one;
}

// A copy of `value`, an ABI struct that begins with its size, in the shape of this host. It stays until the
// process ends.
template <class T>
[[nodiscard]] T* shaped(const T& value) {
  auto block = std::shared_ptr<unsigned char[]>(new unsigned char[sizeof(T) + most_padding]);
  std::memset(block.get(), padding_byte, sizeof(T) + most_padding);
  std::memcpy(block.get(), &value, sizeof(T));
  const std::uint32_t size = static_cast<std::uint32_t>(sizeof(T)) + shape().padding;
  std::memcpy(block.get(), &size, sizeof size);
  auto* made = reinterpret_cast<T*>(block.get());
  witness().keep(std::static_pointer_cast<void>(block));
  return made;
}

// False if the plugin wrote behind the members that it can know.
template <class T>
[[nodiscard]] bool padding_intact(const T* made) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(made);
  for (std::size_t i = sizeof(T); i < sizeof(T) + most_padding; ++i) {
    if (bytes[i] != padding_byte) return false;
  }
  return true;
}

}  // namespace rmgr::conform
