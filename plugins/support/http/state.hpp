// What perform, download and Batch share. Internal to the library.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "support/http/client.hpp"
#include "support/http/loop.hpp"
#include "support/http/transfer.hpp"

namespace plugins::http {

void cancel_mailbox(void* box);
Failure given_up(Failure::Kind kind);
Failure refused(std::string message);

// Waits at one mailbox until something is there, the caller cancels, or the deadline comes.
class Wait {
 public:
  Wait(std::shared_ptr<Mailbox> box, Caller& caller)
      : box_(std::move(box)),
        caller_(caller),
        deadline_(std::chrono::steady_clock::now() +
                  std::min<std::chrono::milliseconds>(caller.remaining(), std::chrono::hours{24})),
        registration_(caller.on_cancel(&cancel_mailbox, box_.get())) {}
  ~Wait() {
    if (registration_ != 0) caller_.off_cancel(registration_);
  }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  // Nothing once `ready` holds, else why waiting ended.
  template <class Ready>
  std::optional<Failure::Kind> until(std::unique_lock<std::mutex>& lock, Ready ready) {
    for (;;) {
      if (box_->cancelled) return Failure::Kind::cancelled;
      if (ready()) return std::nullopt;
      const auto now = std::chrono::steady_clock::now();
      if (now >= deadline_) return Failure::Kind::deadline;
      if (registration_ != 0) {
        box_->changed.wait_until(lock, deadline_);
        continue;
      }
      // The caller has no room for another registration, so it is asked now and then.
      box_->changed.wait_until(lock, std::min(deadline_, now + std::chrono::milliseconds{20}));
      lock.unlock();
      const bool requested = caller_.requested();
      lock.lock();
      box_->cancelled = box_->cancelled || requested;
    }
  }

 private:
  std::shared_ptr<Mailbox> box_;
  Caller& caller_;
  std::chrono::steady_clock::time_point deadline_;
  std::uint64_t registration_;
};

struct Client::State {
  explicit State(Options given) : options(std::move(given)), loop(options) {}

  Options options;
  std::mutex mutex;
  Secret proxy_credentials;
  Loop loop;

  // Null and a reason if it may not be sent.
  std::pair<std::shared_ptr<Transfer>, std::string> start(const std::shared_ptr<Mailbox>& box,
                                                          Request request, std::uint64_t tag,
                                                          bool streaming) {
    auto transfer = std::make_shared<Transfer>(box, std::move(request), tag, streaming);
    std::string problem;
    {
      const std::lock_guard lock(mutex);
      problem = transfer->prepare(options, proxy_credentials);
    }
    if (!problem.empty()) return {nullptr, std::move(problem)};
    loop.add(transfer);
    return {std::move(transfer), std::string()};
  }
  void give_up(const std::shared_ptr<Transfer>& transfer) {
    transfer->abandon();
    loop.remove(transfer);
  }
};

}  // namespace plugins::http
