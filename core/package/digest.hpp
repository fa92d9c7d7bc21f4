// SHA-256 as this room uses it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace agent::package {

// True for 64 lower-case hex digits: the only form that anything is compared with.
bool is_digest(std::string_view text);

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  void reset();
  void update(const char* bytes, std::size_t size);
  void update(std::string_view text) { update(text.data(), text.size()); }
  // 64 hex digits of everything since the last reset; then starts again.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace agent::package
