#include "bench/long_history.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "journal/sqlite.hpp"

namespace bench {

namespace journal = agent::journal;
using journal::sqlite::Access;
using journal::sqlite::Database;

namespace {

constexpr std::int64_t kBegin = 1'700'000'000'000;
constexpr domain::Millis kMinute{60'000};
constexpr int kModels = 20;  // finished attempts that the others are copied from
constexpr std::int64_t kBatch = 50'000;

template <class T>
T expect(domain::Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}
void expect(const domain::Result<void>& result) {
  if (!result) throw std::runtime_error(result.error().message);
}

std::string file_in(const std::string& directory) { return directory + "/journal.db"; }

domain::Policy policy() {
  domain::Policy made;
  made.name = domain::PolicyName("bench");
  made.target = expect(domain::Target::parse("acme/widgets"));
  made.gateway = domain::InstanceName("github");
  made.provider = domain::InstanceName("native");
  made.package_source = domain::InstanceName("packages");
  made.root = "/srv/runners";
  made.labels = {"self-hosted", "Linux", "X64"};
  made.max = kLive;
  return made;
}

// The columns of a table for an INSERT … SELECT: as they are, but for those that `special` names.
std::string columns(Database& database, const std::string& table, const std::string& special) {
  const std::string each = special.empty() ? "name" : "CASE name " + special + " ELSE 'model.' || name END";
  return expect(
      database.text("SELECT group_concat(" + each + ", ', ') FROM pragma_table_info('" + table + "')"));
}

void copy_models(Database& database, std::int64_t finished) {
  // Ids come in no order, as real ones do. The past lies before what the engine made, one end a minute as in
  // its passes, so that as many runtimes are still watched after a short history as after a long one.
  const std::string id =
      "lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || "
      "'-8' || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))";
  const auto quoted = [](std::string text) {
    for (std::size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 2)
      text.insert(at, 1, '\'');
    return "'" + text + "'";
  };
  const auto earlier = [](const std::string& column) {
    return "model." + column + " - " + std::to_string(kMinute.count()) + " * (:end - number)";
  };
  const std::string attempt_names = columns(database, "attempt", "");
  const std::string attempt_values =
      columns(database, "attempt",
              "WHEN 'seq' THEN 'number' WHEN 'id' THEN " + quoted(id) + " WHEN 'generation' THEN " +
                  quoted("lower(hex(randomblob(16)))") + " WHEN 'runtime' THEN " +
                  quoted("'/srv/runners/' || lower(hex(randomblob(6)))") + " WHEN 'changed_wall_ms' THEN " +
                  quoted(earlier("changed_wall_ms")) + " WHEN 'residue_until_wall_ms' THEN " +
                  quoted(earlier("residue_until_wall_ms")));
  const std::string event_names = columns(database, "event", "");
  const std::string event_values = columns(database, "event", "WHEN 'attempt' THEN 'copy.seq'");
  expect(
      database.execute("CREATE TEMP TABLE model AS SELECT row_number() OVER () AS place, * FROM attempt "
                       "WHERE state = 'cleaned'; CREATE TEMP TABLE model_event AS SELECT model.place, "
                       "event.* FROM event JOIN model ON event.attempt = model.seq; CREATE INDEX "
                       "temp.model_event_place ON model_event (place, number);"));
  const std::int64_t models = expect(database.integer("SELECT count(*) FROM model"));
  const std::int64_t first = expect(database.integer("SELECT max(seq) + 1 FROM attempt"));
  const std::int64_t end = first + finished - models;
  const auto with = [&](std::string sql, std::int64_t from, std::int64_t to) {
    for (const auto& [name, value] : {std::pair{":from", from}, {":to", to}, {":end", end}}) {
      for (std::size_t at = 0; (at = sql.find(name)) != std::string::npos;)
        sql.replace(at, std::string(name).size(), std::to_string(value));
    }
    return sql;
  };
  for (std::int64_t from = first; from < end; from += kBatch) {
    const std::int64_t to = std::min(from + kBatch, end);
    expect(database.execute(
        with("BEGIN IMMEDIATE; WITH RECURSIVE series (number) AS (SELECT :from UNION ALL SELECT number + 1 "
             "FROM series WHERE number + 1 < :to) INSERT INTO attempt (" +
                 attempt_names + ") SELECT " + attempt_values +
                 " FROM series JOIN model ON model.place = 1 + number % " + std::to_string(models) +
                 "; INSERT INTO event (" + event_names + ") SELECT " + event_values +
                 " FROM attempt AS copy CROSS JOIN model_event AS model ON model.place = 1 + copy.seq % " +
                 std::to_string(models) + " WHERE copy.seq >= :from AND copy.seq < :to; COMMIT;",
             from, to)));
  }
}

}  // namespace

Host::Host(const std::string& directory, std::int64_t keep, bool check) {
  journal::OpenOptions options;
  options.path = file_in(directory);
  options.exclusive = false;
  options.installation = "00000000-0000-4000-8000-000000000001";
  options.machine = "machine";
  options.check = check;
  journal_ = expect(journal::Journal::open(options));
  std::int64_t clock = kBegin;
  for (const domain::Attempt& attempt : expect(journal_->load_active()))
    clock = std::max(clock, attempt.changed_at.wall_ms);
  world_ = std::make_unique<InstantWorld>(clock);
  engine_ = std::make_unique<reconcile::Engine>(reconcile::EngineOptions{.host_capacity = kLive,
                                                                         .poll_quiet = kMinute,
                                                                         .poll_active = kMinute,
                                                                         .readiness_age = kMinute,
                                                                         .keep_attempts = keep,
                                                                         .keep_for = domain::Millis{0}},
                                                *world_, *journal_, log_);
  world_->connect(*engine_);
  expect(engine_->start({policy()}));
  world_->adopt(engine_->attempts());
  world_->queue_jobs(kLive);
  world_->settle();
  world_->queue_jobs(1);
  if (engine_->active() != kLive) throw std::runtime_error("the engine did not start ten runners");
}

void Host::pass() {
  world_->advance(kMinute);
  world_->end_oldest_job();
  world_->settle();
  if (engine_->active() != kLive || engine_->journal().state != domain::JournalState::ready)
    throw std::runtime_error("a pass did not end with ten runners: " + engine_->journal().message);
}

void make_history(const std::string& directory, std::int64_t finished) {
  {
    Host host(directory, std::numeric_limits<std::int64_t>::max(), true);
    for (int index = 0; index < kModels; ++index)
      host.pass();
  }
  Database database = expect(Database::open(file_in(directory), Access::read_write, ""));
  // Whoever is interrupted here begins anew.
  expect(
      database.execute("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA cache_size = -524288; "
                       "PRAGMA temp_store = MEMORY;"));
  copy_models(database, finished);
}

Rows count_rows(const std::string& directory) {
  Database database = expect(Database::open(file_in(directory), Access::read_only, ""));
  return {.attempts = expect(database.integer("SELECT count(*) FROM attempt WHERE state = 'cleaned'")),
          .events = expect(database.integer("SELECT count(*) FROM event"))};
}

}  // namespace bench
