// Secrets have types of their own, so that they fit into no log line, message or configuration by accident.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "rmgr/abi/base.h"

namespace rmgr {

// Overwrites memory in a way that the optimizer keeps.
inline void wipe(void* data, std::size_t size) noexcept {
  auto* bytes = static_cast<volatile unsigned char*>(data);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = 0;
}

// Borrowed; lives as long as the call or function it was handed to.
class SecretView {
 public:
  SecretView() = default;
  explicit SecretView(rmgr_secret secret) noexcept : secret_(secret) {}
  explicit SecretView(std::string_view bytes) noexcept : secret_{bytes.data(), bytes.size()} {}
  // The value itself. Whoever asks for it must not copy it where it stays.
  [[nodiscard]] std::string_view reveal() const noexcept {
    return secret_.bytes == nullptr ? std::string_view{} : std::string_view{secret_.bytes, secret_.size};
  }
  [[nodiscard]] std::size_t size() const noexcept { return secret_.size; }
  [[nodiscard]] bool empty() const noexcept { return secret_.size == 0; }
  [[nodiscard]] rmgr_secret abi() const noexcept { return secret_; }

 private:
  rmgr_secret secret_{nullptr, 0};
};

// Owned, move-only, and wiped when it ends. There is no stream operator and no conversion to text.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string_view bytes)
      : bytes_(std::make_unique<char[]>(bytes.size())), size_(bytes.size()) {
    if (size_ != 0) std::memcpy(bytes_.get(), bytes.data(), size_);
  }
  explicit Secret(SecretView secret) : Secret(secret.reveal()) {}
  Secret(Secret&& other) noexcept
      : bytes_(std::move(other.bytes_)), size_(std::exchange(other.size_, std::size_t{0})) {}
  Secret& operator=(Secret&& other) noexcept {
    if (this != &other) {
      clear();
      bytes_ = std::move(other.bytes_);
      size_ = std::exchange(other.size_, std::size_t{0});
    }
    return *this;
  }
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret() { clear(); }

  void clear() noexcept {
    if (bytes_ != nullptr) wipe(bytes_.get(), size_);
    bytes_.reset();
    size_ = 0;
  }
  [[nodiscard]] SecretView view() const noexcept { return SecretView(std::string_view{bytes_.get(), size_}); }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
};

}  // namespace rmgr
