// The real journal, watched: crashes at commits, failures, and what is written is told to the ledger.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "journal/journal.hpp"
#include "sim/ledger.hpp"
#include "support/forwarding_journal.hpp"

namespace simulation {

namespace journal = agent::journal;

class SimJournal final : public testkit::ForwardingJournal {
 public:
  struct Watch {
    // Asked before each commit; an error is answered, and nothing is written.
    std::function<std::optional<domain::ErrorCode>()> before;
    // Whether the journal will not have this row now.
    std::function<bool(const domain::AttemptId&)> refuses;
    std::function<void(const journal::Batch&)> written;
    std::function<void(const journal::Batch&, domain::ErrorCode)> failed;
  };
  SimJournal(std::unique_ptr<journal::Journal> real, Watch watch)
      : ForwardingJournal(std::move(real)), watch_(std::move(watch)) {}

  domain::Result<void> commit(const journal::Batch& batch) override {
    if (const auto error = watch_.before()) return failure(*error);
    for (const domain::Attempt& attempt : batch.attempts) {
      if (watch_.refuses(attempt.id)) return failure(domain::ErrorCode::internal);
    }
    auto done = real().commit(batch);
    if (done) {
      watch_.written(batch);
    } else {
      watch_.failed(batch, done.error().code);
    }
    return done;
  }

  domain::Result<void> prove_writable() override {
    if (const auto error = watch_.before()) return failure(*error);
    return real().prove_writable();
  }

 private:
  static domain::Error failure(domain::ErrorCode code) {
    return {.code = code, .message = "made failure", .retry_after = domain::Millis{0}};
  }

  Watch watch_;
};

}  // namespace simulation
