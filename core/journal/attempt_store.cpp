#include "journal/attempt_store.hpp"

#include <utility>

#include "journal/attempt_sql.hpp"
#include "journal/fields.hpp"
#include "journal/row_io.hpp"
#include "journal/schema.hpp"

namespace agent::journal {

using domain::Attempt;
using domain::Error;
using domain::ErrorCode;
using domain::Result;

namespace {

Error changed_fact(const Attempt& attempt, const std::string& what) {
  return Error{ErrorCode::internal,
               "attempt " + attempt.id.str() + ": its " + what +
                   " is written once and would change; nothing was written.",
               {}};
}

template <class T>
bool rewritten(const std::optional<T>& before, const std::optional<T>& now) {
  return before && before != now;
}

// The first fact of `now` that contradicts what is written.
std::optional<std::string> contradiction(const Attempt& before, const Attempt& now) {
  if (before.generation != now.generation) return "generation";
  if (before.policy != now.policy || before.policy.target.str() != now.policy.target.str()) return "policy";
  if (before.runtime != now.runtime) return "runtime directory";
  if (before.slot != now.slot) return "slot";
  if (rewritten(before.package, now.package)) return "package";
  if (rewritten(before.environment, now.environment)) return "environment";
  if (rewritten(before.runner, now.runner)) return "runner id";
  if (rewritten(before.process, now.process)) return "process identity";
  if (before.state == domain::State::cleaned && now.state != domain::State::cleaned) return "final state";
  return std::nullopt;
}

}  // namespace

const std::string& active_query() {
  static const std::string text =
      attempt_sql::select() + "INDEXED BY attempt_active WHERE " + std::string{kActive} + " ORDER BY seq";
  return text;
}

Result<void> AttemptStore::write(const Attempt& attempt) {
  auto definition = definitions_.intern(attempt.policy);
  if (!definition) return definition.error();
  auto updated = update(attempt, *definition);
  if (!updated) return updated.error();
  if (*updated) return {};
  if (auto explained = explain_update(attempt); !explained) return explained;
  return insert(attempt, *definition);
}

Result<bool> AttemptStore::update(const Attempt& attempt, std::int64_t definition) {
  auto statement = database_.prepare(attempt_sql::update());
  if (!statement) return statement.error();
  Binder binder{*statement};
  life_fields(binder, attempt);
  statement->bind(attempt.policy.name.str()).bind(definition);
  birth_fields(binder, attempt);
  if (auto done = statement->run(); !done) return done.error();
  return database_.changes() == 1;
}

Result<void> AttemptStore::explain_update(const Attempt& attempt) {
  auto known = find(attempt.id);
  if (!known) return known.error();
  if (!*known) return {};
  const auto what = contradiction(**known, attempt);
  return changed_fact(attempt, what.value_or("row"));
}

Result<void> AttemptStore::insert(const Attempt& attempt, std::int64_t definition) {
  auto statement = database_.prepare(attempt_sql::insert());
  if (!statement) return statement.error();
  statement->bind(attempt.policy.name.str()).bind(definition);
  Binder binder{*statement};
  birth_fields(binder, attempt);
  life_fields(binder, attempt);
  auto done = statement->run();
  if (done || done.error().code != ErrorCode::exists) return done;
  if (auto fenced = check_fences(attempt); !fenced) return fenced;
  return done;
}

Result<void> AttemptStore::check_fences(const Attempt& attempt) {
  {
    auto statement = database_.prepare("SELECT id FROM attempt WHERE runtime = ?1 AND state <> 'cleaned'");
    if (!statement) return statement.error();
    auto taken = statement->bind(attempt.runtime).step();
    if (!taken) return taken.error();
    if (*taken) {
      return Error{ErrorCode::exists,
                   "runtime directory " + attempt.runtime + " belongs to an attempt that is not cleaned (" +
                       statement->text(0) + "); nothing was written.",
                   {}};
    }
  }
  if (!attempt.slot) return {};
  auto statement = database_.prepare(
      "SELECT id FROM attempt WHERE policy = ?1 AND slot = ?2 AND slot IS NOT NULL AND state <> 'cleaned'");
  if (!statement) return statement.error();
  auto taken = statement->bind(attempt.policy.name.str()).bind(*attempt.slot).step();
  if (!taken) return taken.error();
  if (!*taken) return {};
  return Error{ErrorCode::exists,
               "slot s" + std::to_string(*attempt.slot) + " of policy " + attempt.policy.name.str() +
                   " belongs to an attempt that is not cleaned (" + statement->text(0) +
                   "); nothing was written.",
               {}};
}

Result<std::vector<Attempt>> AttemptStore::active() {
  auto statement = database_.prepare(active_query());
  if (!statement) return statement.error();
  return read_all(*statement);
}

Result<std::vector<Attempt>> AttemptStore::residues(std::int64_t wall_ms) {
  auto statement = database_.prepare(attempt_sql::select() +
                                     "INDEXED BY attempt_residue WHERE residue_until_wall_ms > ?1");
  if (!statement) return statement.error();
  statement->bind(wall_ms);
  return read_all(*statement);
}

Result<std::optional<Attempt>> AttemptStore::find(const domain::AttemptId& id) {
  auto statement = database_.prepare(attempt_sql::select() + "WHERE id = ?1");
  if (!statement) return statement.error();
  auto row = statement->bind(id.str()).step();
  if (!row) return row.error();
  if (!*row) return std::optional<Attempt>{};
  auto attempt = read(*statement);
  if (!attempt) return attempt.error();
  return std::optional<Attempt>{std::move(*attempt)};
}

Result<std::vector<Attempt>> AttemptStore::recent(std::int64_t limit) {
  auto statement = database_.prepare(attempt_sql::select() + "ORDER BY seq DESC LIMIT ?1");
  if (!statement) return statement.error();
  statement->bind(std::max<std::int64_t>(limit, 0));
  return read_all(*statement);
}

Result<Attempt> AttemptStore::read(const sqlite::Statement& row) {
  Attempt attempt;
  Reader reader{row, 1};
  birth_fields(reader, attempt);
  life_fields(reader, attempt);
  if (reader.problem()) {
    return Error{ErrorCode::corrupt,
                 "journal " + database_.path() + ": attempt " + attempt.id.str() + " holds a " +
                     *reader.problem() + " that means nothing. " + sqlite::way_out(database_.path()),
                 {}};
  }
  auto policy = definitions_.load(row.integer(0));
  if (!policy) return policy.error();
  attempt.policy = **policy;
  return attempt;
}

Result<std::vector<Attempt>> AttemptStore::read_all(sqlite::Statement& statement) {
  std::vector<Attempt> attempts;
  for (;;) {
    auto row = statement.step();
    if (!row) return row.error();
    if (!*row) return attempts;
    auto attempt = read(statement);
    if (!attempt) return attempt.error();
    attempts.push_back(std::move(*attempt));
  }
}

}  // namespace agent::journal
