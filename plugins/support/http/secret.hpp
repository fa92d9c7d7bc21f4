// Text that is wiped when it is no longer needed.
#pragma once

#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <utility>

namespace plugins::http {

// Move-only. Lives in one heap block of exactly its size, so that no growth or short-string copy stays
// behind.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string_view text) : Secret(std::initializer_list<std::string_view>{text}) {}
  // The concatenation of the parts.
  Secret(std::initializer_list<std::string_view> parts) {
    for (const auto part : parts)
      size_ += part.size();
    if (size_ == 0) return;
    bytes_ = std::make_unique<char[]>(size_);
    std::size_t at = 0;
    for (const auto part : parts) {
      if (!part.empty()) std::memcpy(bytes_.get() + at, part.data(), part.size());
      at += part.size();
    }
  }
  Secret(Secret&& other) noexcept : bytes_(std::move(other.bytes_)), size_(std::exchange(other.size_, 0)) {}
  Secret& operator=(Secret&& other) noexcept {
    if (this != &other) {
      wipe();
      bytes_ = std::move(other.bytes_);
      size_ = std::exchange(other.size_, 0);
    }
    return *this;
  }
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret() { wipe(); }

  [[nodiscard]] Secret copy() const { return Secret(view()); }
  [[nodiscard]] std::string_view view() const { return {bytes_.get(), size_}; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  void wipe() {
    if (bytes_) explicit_bzero(bytes_.get(), size_);
    bytes_.reset();
    size_ = 0;
  }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
};

}  // namespace plugins::http
