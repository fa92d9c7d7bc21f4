#include "journal/definition_store.hpp"

#include <utility>

#include "journal/fields.hpp"
#include "journal/row_io.hpp"
#include "journal/sql_text.hpp"

namespace agent::journal {

using domain::Error;
using domain::ErrorCode;
using domain::Policy;
using domain::Result;

namespace {

// A daemon serves far fewer; a long history that is read back must not stay in memory.
constexpr std::size_t kMostKnown = 512;

const std::vector<std::string>& column_names() {
  static const std::vector<std::string> names = [] {
    ColumnNames collected;
    const Policy sample;
    policy_fields(collected, sample);
    return collected.names();
  }();
  return names;
}

const std::string& insert_text() {
  static const std::string text = "INSERT INTO policy_definition (" + joined(column_names()) + ") VALUES (" +
                                  parameters(column_names().size()) + ") RETURNING id";
  return text;
}

const std::string& select_text() {
  static const std::string text =
      "SELECT " + joined(column_names()) + " FROM policy_definition WHERE id = ?1";
  return text;
}

// A target compares case-folded, but it is printed as it was written.
bool same_definition(const Policy& a, const Policy& b) { return a == b && a.target.str() == b.target.str(); }

}  // namespace

Result<std::int64_t> DefinitionStore::intern(const Policy& policy) {
  const auto find = [&]() -> const std::int64_t* {
    for (const auto& [id, known] : known_) {
      if (same_definition(known, policy)) return &id;
    }
    return nullptr;
  };
  if (const auto* id = find(); id != nullptr) return *id;
  if (auto read = remember_all_named(policy.name); !read) return read.error();
  if (const auto* id = find(); id != nullptr) return *id;
  auto id = insert(policy);
  if (id) known_.insert_or_assign(*id, policy);
  return id;
}

Result<const Policy*> DefinitionStore::load(std::int64_t id) {
  if (const auto known = known_.find(id); known != known_.end()) return &known->second;
  auto policy = read(id);
  if (!policy) return policy.error();
  if (known_.size() >= kMostKnown) known_.clear();
  return &known_.insert_or_assign(id, std::move(*policy)).first->second;
}

Result<void> DefinitionStore::remove_unused() {
  auto statement = database_.prepare(
      "DELETE FROM policy_definition WHERE NOT EXISTS (SELECT 1 FROM attempt WHERE attempt.policy = "
      "policy_definition.name AND attempt.definition = policy_definition.id)");
  if (!statement) return statement.error();
  forget();
  return statement->run();
}

Result<std::int64_t> DefinitionStore::insert(const Policy& policy) {
  std::int64_t id = 0;
  {
    auto statement = database_.prepare(insert_text());
    if (!statement) return statement.error();
    Binder binder{*statement};
    policy_fields(binder, policy);
    auto row = statement->step();
    if (!row) return row.error();
    id = statement->integer(0);
    if (auto end = statement->step(); !end) return end.error();
  }
  auto statement =
      database_.prepare("INSERT INTO policy_label (definition, position, label) VALUES (?1, ?2, ?3)");
  if (!statement) return statement.error();
  std::int64_t position = 0;
  for (const std::string& label : policy.labels) {
    statement->reset();
    if (auto done = statement->bind(id).bind(position++).bind(label).run(); !done) return done.error();
  }
  return id;
}

Result<Policy> DefinitionStore::read(std::int64_t id) {
  Policy policy;
  auto statement = database_.prepare(select_text());
  if (!statement) return statement.error();
  auto row = statement->bind(id).step();
  if (!row) return row.error();
  std::optional<std::string> problem;
  if (*row) {
    Reader reader{*statement, 0};
    policy_fields(reader, policy);
    problem = reader.problem();
  }
  if (!*row || problem) {
    return Error{ErrorCode::corrupt,
                 "journal " + database_.path() + ": policy definition " + std::to_string(id) +
                     (problem ? " holds a " + *problem + " that means nothing. " : " is missing. ") +
                     sqlite::way_out(database_.path()),
                 {}};
  }
  auto labels = database_.prepare("SELECT label FROM policy_label WHERE definition = ?1 ORDER BY position");
  if (!labels) return labels.error();
  labels->bind(id);
  for (;;) {
    auto next = labels->step();
    if (!next) return next.error();
    if (!*next) return policy;
    policy.labels.push_back(labels->text(0));
  }
}

Result<void> DefinitionStore::remember_all_named(const domain::PolicyName& name) {
  std::vector<std::int64_t> ids;
  {
    auto statement = database_.prepare("SELECT id FROM policy_definition WHERE name = ?1");
    if (!statement) return statement.error();
    statement->bind(name.str());
    for (;;) {
      auto row = statement->step();
      if (!row) return row.error();
      if (!*row) break;
      ids.push_back(statement->integer(0));
    }
  }
  for (const std::int64_t id : ids) {
    if (auto policy = load(id); !policy) return policy.error();
  }
  return {};
}

}  // namespace agent::journal
