#include <utility>

#include "crash_point.hpp"
#include "journal/attempt_store.hpp"
#include "journal/connection.hpp"
#include "journal/event_store.hpp"
#include "journal/journal.hpp"
#include "journal/kv_store.hpp"
#include "journal/prune.hpp"
#include "journal/schema.hpp"

namespace agent::journal {

using domain::AttemptId;
using domain::Error;
using domain::ErrorCode;
using domain::InstanceName;

namespace {

// By what is committed: the state of each row, and the effect that it then waits for.
void reach_points([[maybe_unused]] const char* moment, [[maybe_unused]] const Batch& batch) {
#ifdef RMGR_CRASH_POINTS
  for (const Attempt& attempt : batch.attempts) {
    std::string what(domain::to_string(attempt.state));
    if (attempt.pending) what.append("+").append(domain::to_string(attempt.pending->kind));
    RMGR_CRASH_POINT_OF(moment, what);
  }
#endif
}

class SqliteJournal final : public Journal {
 public:
  SqliteJournal(Opened&& opened, bool read_only)
      : database_(std::move(opened.database)),
        installation_(std::move(opened.installation)),
        directory_(std::move(opened.directory)),
        read_only_(read_only) {}

  [[nodiscard]] domain::InstallationId installation() const override { return installation_; }

  Result<void> commit(const Batch& batch) override {
    if (batch.empty()) return {};
    reach_points("journal.before.", batch);
    auto committed = within([&]() -> Result<void> {
      for (const Attempt& attempt : batch.attempts) {
        if (auto done = attempts_.write(attempt); !done) return done;
      }
      for (const EventRecord& event : batch.events) {
        if (auto done = events_.append(event); !done) return done;
      }
      reach_points("journal.within.", batch);
      return {};
    });
    if (committed) reach_points("journal.after.", batch);
    return committed;
  }

  Result<void> prove_writable() override {
    // SQLite writes no page for a row that is updated to what it was, but always for this.
    return within([&] {
      return database_.execute("PRAGMA user_version = " + std::to_string(migration_steps().size()));
    });
  }

  Result<std::vector<Attempt>> load_active() override { return attempts_.active(); }
  Result<std::vector<Attempt>> load_residues(std::int64_t wall_ms) override {
    return attempts_.residues(wall_ms);
  }
  Result<std::optional<Attempt>> find(const AttemptId& id) override { return attempts_.find(id); }
  Result<std::vector<Attempt>> recent(std::int64_t limit) override { return attempts_.recent(limit); }
  Result<std::vector<EventRecord>> events_of(const AttemptId& id) override { return events_.of(id); }

  Result<std::optional<std::string>> kv_get(const InstanceName& instance, std::string_view key) override {
    return kv_.get(instance, key);
  }
  Result<void> kv_put(const InstanceName& instance, std::string_view key, std::string_view value) override {
    RMGR_CRASH_POINT("journal.kv_put.before");
    auto put = within([&] { return kv_.put(instance, key, value); });
    RMGR_CRASH_POINT("journal.kv_put.after");
    return put;
  }
  Result<void> kv_remove(const InstanceName& instance, std::string_view key) override {
    RMGR_CRASH_POINT("journal.kv_remove.before");
    auto removed = within([&] { return kv_.remove(instance, key); });
    RMGR_CRASH_POINT("journal.kv_remove.after");
    return removed;
  }
  Result<std::vector<std::string>> kv_list(const InstanceName& instance, std::string_view prefix) override {
    return kv_.list(instance, prefix);
  }

  Result<std::int64_t> prune(std::int64_t before_wall_ms, std::int64_t keep, std::int64_t limit) override {
    return within(
        [&] { return prune_settled(database_, attempts_.definitions(), before_wall_ms, keep, limit); });
  }

 private:
  // One write transaction around `work`, committed only if it succeeds.
  template <class Work>
  std::invoke_result_t<Work> within(Work work) {
    if (read_only_) {
      return Error{ErrorCode::denied, "journal " + database_.path() + " is open for reading only.", {}};
    }
    auto done = run_within(work);
    if (done) return done;
    attempts_.definitions().forget();
    return explained(done.error());
  }

  // SQLite does not say which error of the system it met. That of a file system which became read-only lasts
  // until somebody does something.
  [[nodiscard]] Error explained(const Error& error) const {
    if (error.code != ErrorCode::retry || directory_.empty()) return error;
    const auto place = check_place(directory_);
    if (place || place.error().code != ErrorCode::denied) return error;
    return {ErrorCode::denied, error.message + " " + place.error().message, {}};
  }

  template <class Work>
  std::invoke_result_t<Work> run_within(Work& work) {
    auto transaction = sqlite::Transaction::begin(database_);
    if (!transaction) return transaction.error();
    auto done = work();
    if (!done) return done;
    if (auto committed = transaction->commit(); !committed) return committed.error();
    return done;
  }

  sqlite::Database database_;
  domain::InstallationId installation_;
  std::string directory_;  // empty within a VFS of its own
  bool read_only_;
  AttemptStore attempts_{database_};
  EventStore events_{database_};
  KvStore kv_{database_};
};

}  // namespace

Result<std::unique_ptr<Journal>> Journal::open(const OpenOptions& options) {
  auto opened = open_database(options, migration_steps());
  if (!opened) return opened.error();
  return std::unique_ptr<Journal>{std::make_unique<SqliteJournal>(std::move(*opened), options.read_only)};
}

}  // namespace agent::journal
