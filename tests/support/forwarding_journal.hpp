// A journal that passes everything on, for tests that change one thing about the real one.
#pragma once

#include <memory>
#include <utility>

#include "journal/journal.hpp"

namespace testkit {

class ForwardingJournal : public agent::journal::Journal {
 protected:
  template <class T>
  using Result = agent::domain::Result<T>;
  using Attempt = agent::domain::Attempt;
  using Id = agent::domain::AttemptId;
  using Instance = agent::domain::InstanceName;

 public:
  explicit ForwardingJournal(std::unique_ptr<agent::journal::Journal> real) : real_(std::move(real)) {}

  [[nodiscard]] agent::domain::InstallationId installation() const override { return real_->installation(); }
  Result<void> commit(const agent::journal::Batch& batch) override { return real_->commit(batch); }
  Result<void> prove_writable() override { return real_->prove_writable(); }
  Result<std::vector<Attempt>> load_active() override { return real_->load_active(); }
  Result<std::vector<Attempt>> load_residues(std::int64_t wall_ms) override {
    return real_->load_residues(wall_ms);
  }
  Result<std::optional<Attempt>> find(const Id& id) override { return real_->find(id); }
  Result<std::vector<Attempt>> recent(std::int64_t limit) override { return real_->recent(limit); }
  Result<std::vector<agent::journal::EventRecord>> events_of(const Id& id) override {
    return real_->events_of(id);
  }
  Result<std::optional<std::string>> kv_get(const Instance& name, std::string_view key) override {
    return real_->kv_get(name, key);
  }
  Result<void> kv_put(const Instance& name, std::string_view key, std::string_view value) override {
    return real_->kv_put(name, key, value);
  }
  Result<void> kv_remove(const Instance& name, std::string_view key) override {
    return real_->kv_remove(name, key);
  }
  Result<std::vector<std::string>> kv_list(const Instance& name, std::string_view prefix) override {
    return real_->kv_list(name, prefix);
  }
  Result<std::int64_t> prune(std::int64_t before, std::int64_t keep, std::int64_t limit) override {
    return real_->prune(before, keep, limit);
  }

 protected:
  [[nodiscard]] agent::journal::Journal& real() { return *real_; }

 private:
  std::unique_ptr<agent::journal::Journal> real_;
};

}  // namespace testkit
