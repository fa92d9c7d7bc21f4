// The one way in which expected failures travel. Exceptions are for defects and for the edges of libraries.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace agent::domain {

// The closed set of failures. What to do next follows from the code, never from the text.
enum class ErrorCode {
  invalid,       // the request or its input is wrong; trying again cannot help
  not_found,     // the named thing does not exist
  exists,        // the name is taken
  retry,         // failed for now
  cancelled,     // somebody asked for the end of it
  deadline,      // the time for it ran out; its outcome is unknown
  unsupported,   // cannot be done here, ever
  denied,        // a right is missing; somebody must change something
  unauthorized,  // a credential was rejected
  unreachable,   // the other side could not be reached; nothing is known
  bad_response,  // the other side answered nonsense; nothing is known
  busy,          // in use
  full,          // no space left
  corrupt,       // stored data is damaged
  internal,      // a defect
};

std::string_view to_string(ErrorCode code);

// `message` is one sentence for an operator: what failed, on what, why, what to do. It holds no secret and no
// name that a job chose. `retry_after` is what the other side asked for, 0 if it did not.
struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;
  std::chrono::milliseconds retry_after{0};
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Result(Error error)
      : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] T& value() & { return std::get<0>(state_); }
  [[nodiscard]] const T& value() const& { return std::get<0>(state_); }
  [[nodiscard]] T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  [[nodiscard]] const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), ok_(false) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  [[nodiscard]] const Error& error() const { return error_; }

 private:
  Error error_;
  bool ok_ = true;
};

}  // namespace agent::domain
