#include "journal/schema.hpp"

#include <initializer_list>

#include "domain/vocabulary.hpp"

namespace agent::journal {

namespace {

// Every word from the first enumerator to `last`, quoted for SQL.
template <class E>
std::string words(E last) {
  std::string list;
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    if (i > 0) list += ',';
    list += "'" + std::string{to_string(static_cast<E>(i))} + "'";
  }
  return list;
}

std::string states() { return words(domain::State::cleaned); }
std::string outcomes() { return words(domain::OutcomeKind::orphaned); }
std::string reasons() { return words(domain::FailureReason::other); }
std::string effects() { return words(domain::EffectKind::scrub); }
std::string terminations() { return words(domain::TerminationKind::by_operator); }
std::string termination_steps() { return words(domain::TerminationStep::stop); }

std::string in(const std::string& column, const std::string& list) {
  return "CONSTRAINT " + column + "_vocabulary CHECK (" + column + " IN (" + list + "))";
}
std::string word(const std::string& column, const std::string& list) {
  return "  " + column + " TEXT NOT NULL " + in(column, list) + ",\n";
}
// A null passes a CHECK.
std::string maybe_word(const std::string& column, const std::string& list) {
  return "  " + column + " TEXT " + in(column, list) + ",\n";
}
std::string flag(const std::string& column) {
  return "  " + column + " INTEGER NOT NULL CHECK (" + column + " IN (0,1)),\n";
}
std::string together(const std::string& first, std::initializer_list<std::string> others) {
  std::string condition;
  for (const std::string& other : others) {
    condition += (condition.empty() ? "(" : " AND (") + first + " IS NULL) = (" + other + " IS NULL)";
  }
  return "  CHECK (" + condition + "),\n";
}
std::string instant(const std::string& name) {
  return "  " + name + "_wall_ms INTEGER NOT NULL, " + name + "_boot_ms INTEGER NOT NULL, " + name +
         "_boot_id TEXT NOT NULL,\n";
}
std::string maybe_instant(const std::string& name) {
  return "  " + name + "_wall_ms INTEGER, " + name + "_boot_ms INTEGER, " + name + "_boot_id TEXT,\n";
}
std::string whole_instant(const std::string& name) {
  return together(name + "_wall_ms", {name + "_boot_ms", name + "_boot_id"});
}

std::string meta_table() {
  return "CREATE TABLE meta (\n"
         "  one INTEGER PRIMARY KEY CHECK (one = 1),\n"
         "  installation TEXT NOT NULL CHECK (installation <> ''),\n"
         "  machine TEXT NOT NULL CHECK (machine <> '')\n"
         ") STRICT;\n";
}

std::string policy_tables() {
  return "CREATE TABLE policy_definition (\n"
         "  id INTEGER PRIMARY KEY,\n"
         "  name TEXT NOT NULL CHECK (name <> ''),\n"
         "  target TEXT NOT NULL,\n"
         "  gateway TEXT NOT NULL,\n"
         "  provider TEXT NOT NULL,\n"
         "  package_source TEXT NOT NULL,\n" +
         word("provider_kind", words(domain::ProviderKind::isolated)) +
         word("workspace", words(domain::WorkspaceKind::persistent)) +
         "  root TEXT NOT NULL,\n"
         "  runner_group INTEGER NOT NULL,\n"
         "  minimum INTEGER NOT NULL,\n"
         "  maximum INTEGER NOT NULL,\n"
         "  warm INTEGER NOT NULL,\n"
         "  priority INTEGER NOT NULL,\n" +
         word("state", words(domain::PolicyState::draining)) +
         "  jit_handoff_ms INTEGER NOT NULL,\n"
         "  startup_ms INTEGER NOT NULL,\n"
         "  idle_ms INTEGER NOT NULL,\n"
         "  stop_grace_ms INTEGER NOT NULL,\n"
         "  job_ms INTEGER NOT NULL,\n"
         "  image TEXT NOT NULL,\n"
         "  cpu_milli INTEGER NOT NULL,\n"
         "  memory_bytes INTEGER NOT NULL,\n"
         "  disk_bytes INTEGER NOT NULL,\n"
         "  pids INTEGER NOT NULL,\n"
         "  UNIQUE (name, id)\n"
         ") STRICT;\n"
         "CREATE TABLE policy_label (\n"
         "  definition INTEGER NOT NULL REFERENCES policy_definition (id) ON DELETE CASCADE,\n"
         "  position INTEGER NOT NULL,\n"
         "  label TEXT NOT NULL,\n"
         "  PRIMARY KEY (definition, position)\n"
         ") STRICT, WITHOUT ROWID;\n";
}

std::string attempt_columns() {
  return "  seq INTEGER PRIMARY KEY,\n"
         "  id TEXT NOT NULL UNIQUE CHECK (id <> ''),\n"
         "  generation TEXT NOT NULL,\n"
         "  runtime TEXT NOT NULL,\n"
         "  slot INTEGER CHECK (slot >= 0),\n" +
         flag("package_inside") +
         "  policy TEXT NOT NULL,\n"
         "  definition INTEGER NOT NULL,\n"
         "  package TEXT,\n"
         "  environment TEXT,\n"
         "  runner INTEGER,\n"
         "  process_pid INTEGER, process_start_token INTEGER, process_boot_id TEXT,\n" +
         maybe_instant("jit_requested") + "  jit_requests INTEGER NOT NULL CHECK (jit_requests >= 0),\n" +
         maybe_instant("unanswered") + word("state", states()) + instant("changed") + flag("ahead") +
         flag("absence_observed") + flag("clean_exit") + "  exit_code INTEGER,\n" + flag("out_of_memory") +
         maybe_word("pending_kind", effects()) + "  pending_seq INTEGER,\n" +
         maybe_instant("pending_issued") + "  next_seq INTEGER NOT NULL,\n" +
         maybe_word("termination_kind", terminations()) +
         maybe_word("termination_step", termination_steps()) + maybe_word("outcome_kind", outcomes()) +
         maybe_word("outcome_reason", reasons()) +
         "  outcome_out_of_memory INTEGER CHECK (outcome_out_of_memory IN (0,1)),\n" +
         flag("replacement_wanted") + flag("environment_removed") + flag("deregistration_owed") +
         "  launch_retry_tries INTEGER NOT NULL,\n" + instant("launch_retry_due") +
         "  cleanup_retry_tries INTEGER NOT NULL,\n" + instant("cleanup_retry_due") +
         "  deregistration_retry_tries INTEGER NOT NULL,\n" + instant("deregistration_retry_due") +
         instant("granted") + maybe_instant("demand_seen") + maybe_instant("package_acquired") +
         maybe_instant("materialized") + maybe_instant("prepared") + maybe_instant("registered") +
         maybe_instant("held") + maybe_instant("started") + maybe_instant("residue_until");
}

std::string attempt_rules() {
  return together("process_pid", {"process_start_token", "process_boot_id"}) +
         whole_instant("jit_requested") + whole_instant("unanswered") +
         together("pending_kind", {"pending_seq", "pending_issued_wall_ms"}) +
         whole_instant("pending_issued") + together("termination_kind", {"termination_step"}) +
         together("outcome_kind", {"outcome_out_of_memory"}) +
         "  CHECK (outcome_reason IS NULL OR outcome_kind IS 'failed'),\n" + whole_instant("demand_seen") +
         whole_instant("package_acquired") + whole_instant("materialized") + whole_instant("prepared") +
         whole_instant("registered") + whole_instant("held") + whole_instant("started") +
         whole_instant("residue_until") +
         "  FOREIGN KEY (policy, definition) REFERENCES policy_definition (name, id)\n";
}

std::string attempt_table() {
  return "CREATE TABLE attempt (\n" + attempt_columns() + attempt_rules() +
         ") STRICT;\n"
         "CREATE UNIQUE INDEX attempt_runtime ON attempt (runtime) WHERE state <> 'cleaned';\n"
         "CREATE UNIQUE INDEX attempt_slot ON attempt (policy, slot) WHERE slot IS NOT NULL AND state <> "
         "'cleaned';\n"
         "CREATE INDEX attempt_active ON attempt (seq) WHERE " +
         std::string{kActive} + ";\nCREATE INDEX attempt_settled ON attempt (changed_wall_ms) WHERE " +
         std::string{kSettled} +
         ";\nCREATE INDEX attempt_residue ON attempt (residue_until_wall_ms) WHERE residue_until_wall_ms IS "
         "NOT NULL"
         ";\nCREATE INDEX attempt_definition ON attempt (policy, definition);\n";
}

std::string settled_of(const std::string& row) {
  return "(" + row + ".state = 'cleaned' AND " + row + ".deregistration_owed = 0 AND " + row +
         ".replacement_wanted = 0)";
}

// How many attempts are settled, kept by the database itself: counting them would cost what ever was.
std::string tally() {
  const std::string before = settled_of("OLD"), now = settled_of("NEW");
  const std::string add = " BEGIN UPDATE tally SET settled = settled + ";
  return "CREATE TABLE tally (\n"
         "  one INTEGER PRIMARY KEY CHECK (one = 1),\n"
         "  settled INTEGER NOT NULL CHECK (settled >= 0)\n"
         ") STRICT;\n"
         "INSERT INTO tally (one, settled) VALUES (1, 0);\n"
         "CREATE TRIGGER tally_insert AFTER INSERT ON attempt WHEN " +
         now + add + "1; END;\n" +
         "CREATE TRIGGER tally_update AFTER UPDATE OF state, deregistration_owed, replacement_wanted ON "
         "attempt "
         "WHEN " +
         before + " <> " + now + add + now + " - " + before + "; END;\n" +
         "CREATE TRIGGER tally_delete AFTER DELETE ON attempt WHEN " + before + add + "-1; END;\n";
}

// A detail has the form of a word; which vocabulary it is from depends on the event.
std::string event_table() {
  return "CREATE TABLE event (\n"
         "  attempt INTEGER NOT NULL REFERENCES attempt (seq) ON DELETE CASCADE,\n"
         "  number INTEGER NOT NULL,\n"
         "  at_wall_ms INTEGER NOT NULL, at_boot_ms INTEGER NOT NULL, at_boot_id TEXT NOT NULL,\n" +
         word("word", states() + "," + outcomes() + "," + effects() + "," + terminations()) +
         "  detail TEXT NOT NULL CONSTRAINT detail_form CHECK (detail NOT GLOB '*[^a-z0-9_]*' AND "
         "length(detail) <= 64),\n"
         "  PRIMARY KEY (attempt, number)\n"
         ") STRICT, WITHOUT ROWID;\n";
}

std::string small_tables() {
  return "CREATE TABLE kv (\n"
         "  instance TEXT NOT NULL,\n"
         "  key TEXT NOT NULL CHECK (length(CAST(key AS BLOB)) BETWEEN 1 AND 128),\n"
         "  value BLOB NOT NULL,\n"
         "  PRIMARY KEY (instance, key)\n"
         ") STRICT, WITHOUT ROWID;\n";
}

}  // namespace

std::string schema_1() {
  return meta_table() + policy_tables() + attempt_table() + tally() + event_table() + small_tables();
}

std::vector<std::string> migration_steps() { return {schema_1()}; }

}  // namespace agent::journal
