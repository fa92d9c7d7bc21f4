// The real journal, watched: crashes at commits, and rules about what is written.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "domain/state.hpp"
#include "journal/journal.hpp"
#include "sim/nature.hpp"
#include "support/forwarding_journal.hpp"

namespace simulation {

namespace journal = agent::journal;

class SimJournal final : public testkit::ForwardingJournal {
 public:
  // `before` and `after` run around each commit; `before` may answer an error, and then nothing is written.
  // `refuses` says of each row whether the journal will not have it now.
  using Before = std::function<std::optional<domain::ErrorCode>()>;
  using Refuses = std::function<bool(const domain::AttemptId&)>;
  SimJournal(std::unique_ptr<journal::Journal> real, Nature& nature, Before before, Refuses refuses,
             std::function<void()> after)
      : ForwardingJournal(std::move(real)),
        nature_(nature),
        before_(std::move(before)),
        refuses_(std::move(refuses)),
        after_(std::move(after)) {}

  domain::Result<void> commit(const journal::Batch& batch) override {
    if (const auto error = before_()) return failure(*error);
    for (const domain::Attempt& attempt : batch.attempts) {
      if (refuses_(attempt.id)) return failure(domain::ErrorCode::internal);
    }
    check_terminal_is_final(batch);
    auto done = real().commit(batch);
    if (done) after_();
    return done;
  }

  domain::Result<void> prove_writable() override {
    if (const auto error = before_()) return failure(*error);
    return real().prove_writable();
  }

 private:
  static domain::Error failure(domain::ErrorCode code) {
    return {.code = code, .message = "made failure", .retry_after = domain::Millis{0}};
  }

  // An outcome, once written, never changes, and nothing leaves `cleaned`.
  void check_terminal_is_final(const journal::Batch& batch) {
    for (const domain::Attempt& attempt : batch.attempts) {
      auto row = real().find(attempt.id);
      if (!row || !*row) continue;
      const domain::Attempt& old = **row;
      if (old.outcome && old.outcome != attempt.outcome)
        nature_.violation("an outcome changed after the conclusion");
      if (old.state != attempt.state && !domain::is_live(old.state) && domain::is_live(attempt.state)) {
        nature_.violation("a concluded attempt came back to life");
      }
    }
  }

  Nature& nature_;
  Before before_;
  Refuses refuses_;
  std::function<void()> after_;
};

}  // namespace simulation
