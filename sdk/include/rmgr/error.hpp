// How a plugin fails: throw rmgr::Error from anywhere inside a call. The layer turns it into a status for the
// host; no exception ever crosses the plugin boundary.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "rmgr/abi/base.h"
#include "rmgr/text.hpp"

namespace rmgr {

using Millis = std::chrono::milliseconds;

// What the host does next follows from the status and never from the text, so choose it with care.
enum class Status : std::int32_t {
  ok = RMGR_OK,
  invalid = RMGR_E_INVALID,            // request or configuration is wrong; trying again cannot help
  not_found = RMGR_E_NOT_FOUND,        // the named thing does not exist
  exists = RMGR_E_EXISTS,              // the name is taken by something else
  retry = RMGR_E_RETRY,                // failed for now
  cancelled = RMGR_E_CANCELLED,        // the call's cancel was requested
  deadline = RMGR_E_DEADLINE,          // the call's deadline passed
  unsupported = RMGR_E_UNSUPPORTED,    // this component cannot do that, ever
  denied = RMGR_E_DENIED,              // a right is missing; somebody must change something
  unauthorized = RMGR_E_UNAUTHORIZED,  // the credential itself was rejected
  unreachable = RMGR_E_UNREACHABLE,    // the other side could not be reached, so nothing is known
  bad_response = RMGR_E_BAD_RESPONSE,  // the other side answered nonsense, so nothing is known
  busy = RMGR_E_BUSY,                  // refused because it is in use
  internal = RMGR_E_INTERNAL,          // a defect
};

// `message` is one sentence for an operator: what failed, why, what to do. It holds no secret and no name
// that a job chose. `retry_after` is how long the other side asked to wait, 0 if it did not say.
class Error : public std::runtime_error {
 public:
  Error(Status status, const std::string& message, Millis retry_after = Millis{0})
      : std::runtime_error(message), status_(status), retry_after_(retry_after) {}
  [[nodiscard]] Status status() const noexcept { return status_; }
  [[nodiscard]] Millis retry_after() const noexcept { return retry_after_; }

 private:
  Status status_;
  Millis retry_after_;
};

namespace detail {

inline void explain(const rmgr_error* error, std::string_view message, Millis retry_after) noexcept {
  if (error != nullptr && error->set != nullptr) error->set(error->ctx, to_abi(message), retry_after.count());
}

// Runs `body` (which answers a status or nothing) at the plugin boundary: whatever it throws ends here.
template <class Body>
rmgr_status guard(const rmgr_error* error, Body&& body) noexcept {
  try {
    body();
    return RMGR_OK;
  } catch (const Error& failure) {
    explain(error, failure.what(), failure.retry_after());
    // A thrown "ok" would hide a failure.
    return failure.status() == Status::ok ? RMGR_E_INTERNAL : static_cast<rmgr_status>(failure.status());
  } catch (const std::bad_alloc&) {
    explain(error, "The plugin ran out of memory; try again when some is free.", Millis{0});
    return RMGR_E_RETRY;
  } catch (const std::exception& failure) {
    explain(error, failure.what(), Millis{0});
    return RMGR_E_INTERNAL;
  } catch (...) {
    explain(error, "The plugin failed in a way that it does not name; report it to its vendor.", Millis{0});
    return RMGR_E_INTERNAL;
  }
}

// Stops producing when a sink refuses an item: the refusal travels out as an exception.
inline void expect_taken(rmgr_status status) {
  if (status != RMGR_OK) throw Error(static_cast<Status>(status), "The host did not take the answer.");
}

// Receives the explanation of a host service and rethrows it as an Error.
class Explanation {
 public:
  Explanation() : abi_{size_of<rmgr_error>(), 0, this, &Explanation::set} {}
  Explanation(const Explanation&) = delete;
  Explanation& operator=(const Explanation&) = delete;
  [[nodiscard]] const rmgr_error* abi() const noexcept { return &abi_; }
  void expect_ok(rmgr_status status, std::string_view what) const {
    if (status == RMGR_OK) return;
    throw Error(static_cast<Status>(status), message_.empty() ? std::string(what) + " failed." : message_,
                retry_after_);
  }

 private:
  static void RMGR_CALL set(void* ctx, rmgr_str message, std::int64_t retry_after_ms) noexcept {
    auto* self = static_cast<Explanation*>(ctx);
    self->retry_after_ = Millis{retry_after_ms};
    try {
      self->message_ = from_abi(message);
    } catch (const std::bad_alloc&) {
      self->message_.clear();
    }
  }
  rmgr_error abi_;
  std::string message_;
  Millis retry_after_{0};
};

}  // namespace detail
}  // namespace rmgr
