// The real journal, watched: crashes at commits, and rules about what is written.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "domain/state.hpp"
#include "journal/journal.hpp"
#include "sim/history.hpp"
#include "sim/nature.hpp"

namespace simulation {

namespace journal = agent::journal;

class SimJournal final : public journal::Journal {
 public:
  // `before` and `after` run around each commit; `before` may answer true to die with nothing written.
  SimJournal(std::unique_ptr<journal::Journal> real, Nature& nature, Mistake mistake,
             std::function<bool()> before, std::function<void()> after)
      : real_(std::move(real)),
        nature_(nature),
        mistake_(mistake),
        before_(std::move(before)),
        after_(std::move(after)) {}

  [[nodiscard]] domain::InstallationId installation() const override { return real_->installation(); }

  domain::Result<void> commit(const journal::Batch& batch) override {
    if (before_()) return dead();
    check_terminal_is_final(batch);
    if (mistake_ == Mistake::effect_before_journal) {
      // Says "done" while the batch waits for the next commit.
      std::swap(held_back_, held_now_);
      held_back_ = batch;
      auto late = held_now_.empty() ? domain::Result<void>() : real_->commit(held_now_);
      held_now_ = {};
      after_();
      return late;
    }
    auto done = real_->commit(batch);
    if (done) after_();
    return done;
  }

  domain::Result<std::vector<domain::Attempt>> load_active() override { return real_->load_active(); }
  domain::Result<std::optional<domain::Attempt>> find(const domain::AttemptId& id) override {
    return real_->find(id);
  }
  domain::Result<std::vector<domain::Attempt>> recent(std::int64_t limit) override {
    return real_->recent(limit);
  }
  domain::Result<std::vector<journal::EventRecord>> events_of(const domain::AttemptId& id) override {
    return real_->events_of(id);
  }
  domain::Result<std::optional<std::string>> kv_get(const domain::InstanceName& instance,
                                                    std::string_view key) override {
    return real_->kv_get(instance, key);
  }
  domain::Result<void> kv_put(const domain::InstanceName& instance, std::string_view key,
                              std::string_view value) override {
    return real_->kv_put(instance, key, value);
  }
  domain::Result<void> kv_remove(const domain::InstanceName& instance, std::string_view key) override {
    return real_->kv_remove(instance, key);
  }
  domain::Result<std::vector<std::string>> kv_list(const domain::InstanceName& instance,
                                                   std::string_view prefix) override {
    return real_->kv_list(instance, prefix);
  }
  domain::Result<std::int64_t> begin_loading(std::string_view digest) override {
    return real_->begin_loading(digest);
  }
  domain::Result<void> end_loading(std::string_view digest) override { return real_->end_loading(digest); }
  domain::Result<std::int64_t> prune(std::int64_t before, std::int64_t keep, std::int64_t limit) override {
    return real_->prune(before, keep, limit);
  }

 private:
  static domain::Error dead() {
    return {.code = domain::ErrorCode::internal,
            .message = "the agent died here",
            .retry_after = domain::Millis{0}};
  }

  // An outcome, once written, never changes, and nothing leaves `cleaned`.
  void check_terminal_is_final(const journal::Batch& batch) {
    for (const domain::Attempt& attempt : batch.attempts) {
      auto row = real_->find(attempt.id);
      if (!row || !*row) continue;
      const domain::Attempt& old = **row;
      if (old.outcome && old.outcome != attempt.outcome)
        nature_.violation("an outcome changed after the conclusion");
      if (old.state != attempt.state && !domain::is_live(old.state) && domain::is_live(attempt.state)) {
        nature_.violation("a concluded attempt came back to life");
      }
    }
  }

  std::unique_ptr<journal::Journal> real_;
  Nature& nature_;
  Mistake mistake_;
  std::function<bool()> before_;
  std::function<void()> after_;
  journal::Batch held_back_;
  journal::Batch held_now_;
};

}  // namespace simulation
