#include "journal/migrate.hpp"

#include <gmock/gmock.h>

#include "journal/connection.hpp"
#include "journal/schema.hpp"
#include "unit/journal/fixture.hpp"

namespace agent::journal {

using domain::ErrorCode;
using sqlite::Access;
using sqlite::Database;

class Migration : public JournalTest {
 protected:
  // A journal of schema 1 with one attempt, closed.
  void make_schema_1() { ASSERT_OK(open()->commit(batch({sample::attempt(1)}))); }
  static std::vector<std::string> with(std::initializer_list<std::string> further) {
    auto steps = migration_steps();
    steps.insert(steps.end(), further);
    return steps;
  }
  std::int64_t number(const std::string& file, const std::string& sql) {
    auto database = Database::open(file, Access::read_only, "");
    EXPECT_OK(database);
    auto value = database->integer(sql);
    EXPECT_OK(value);
    return value.ok() ? *value : -1;
  }
  std::string backup() { return path() + ".backup-1"; }
};

TEST_F(Migration, brings_an_older_journal_up_step_by_step_after_a_backup) {
  make_schema_1();
  const auto steps =
      with({"CREATE TABLE second (a INTEGER) STRICT; INSERT INTO second SELECT count(*) FROM attempt",
            "ALTER TABLE second ADD COLUMN b TEXT"});
  ASSERT_OK(open_database(options(), steps));
  EXPECT_EQ(number(path(), "PRAGMA user_version"), 3);
  EXPECT_EQ(number(path(), "SELECT a FROM second WHERE b IS NULL"), 1);

  EXPECT_EQ(mode_of(backup()), 0600U);
  EXPECT_EQ(number(backup(), "PRAGMA user_version"), 1);
  EXPECT_EQ(number(backup(), "PRAGMA application_id"), kApplicationId);
  EXPECT_EQ(number(backup(), "SELECT count(*) FROM attempt"), 1);
  EXPECT_FALSE(std::filesystem::exists(backup() + ".new"));
}

TEST_F(Migration, a_backup_put_in_place_is_a_journal_again) {
  make_schema_1();
  ASSERT_OK(open_database(options(), with({"CREATE TABLE second (a INTEGER) STRICT"})));
  std::filesystem::rename(backup(), path());
  EXPECT_EQ(open()->load_active()->size(), 1U);
}

TEST_F(Migration, a_failing_step_leaves_the_version_before_it) {
  make_schema_1();
  const auto failed = open_database(
      options(), with({"CREATE TABLE second (a INTEGER) STRICT",
                       "CREATE TABLE third (a INTEGER) STRICT; INSERT INTO nowhere VALUES (1)"}));
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(number(path(), "PRAGMA user_version"), 2);
  EXPECT_EQ(number(path(), "SELECT count(*) FROM sqlite_schema WHERE name = 'second'"), 1);
  EXPECT_EQ(number(path(), "SELECT count(*) FROM sqlite_schema WHERE name = 'third'"), 0);
  EXPECT_TRUE(std::filesystem::exists(backup()));
}

TEST_F(Migration, a_step_may_rebuild_a_table_that_others_refer_to) {
  make_schema_1();
  const std::string rebuild =
      "CREATE TABLE fresh (id INTEGER PRIMARY KEY, name TEXT NOT NULL, UNIQUE (name, id)) STRICT;"
      "INSERT INTO fresh SELECT id, name FROM policy_definition;"
      "DROP TABLE policy_definition; ALTER TABLE fresh RENAME TO policy_definition";
  auto opened = open_database(options(), with({rebuild}));
  ASSERT_OK(opened);
  EXPECT_EQ(*opened->database.integer("SELECT count(*) FROM policy_label"), 3) << "nothing cascaded";
  EXPECT_EQ(*opened->database.integer("PRAGMA foreign_keys"), 1);
}

TEST_F(Migration, a_step_that_leaves_references_to_nothing_is_refused) {
  make_schema_1();
  const auto refused = open_database(options(), with({"DELETE FROM policy_definition"}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::internal);
  EXPECT_EQ(open()->load_active()->size(), 1U);
}

TEST_F(Migration, without_a_backup_there_is_no_step) {
  make_schema_1();
  std::filesystem::create_directory(backup());  // its name is taken
  const auto refused = open_database(options(), with({"CREATE TABLE second (a INTEGER) STRICT"}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(number(path(), "PRAGMA user_version"), 1);
}

TEST_F(Migration, a_reader_waits_for_the_daemon_to_migrate) {
  make_schema_1();
  OpenOptions reading = options();
  reading.read_only = true;
  const auto refused = open_database(reading, with({"CREATE TABLE second (a INTEGER) STRICT"}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
}

TEST_F(Migration, a_new_journal_has_the_newest_schema_and_no_backup) {
  static_cast<void>(open());
  EXPECT_EQ(number(path(), "PRAGMA user_version"), static_cast<std::int64_t>(migration_steps().size()));
  EXPECT_FALSE(std::filesystem::exists(path() + ".backup-0"));
}

// Schema 1 is released: journals of it exist. A vocabulary or a table that changes fails here, and the answer
// is a further step, never an edit of the fixture.
TEST_F(Migration, schema_1_is_what_was_released) {
  EXPECT_EQ(schema_1(), bytes_of(std::string{RMGR_SOURCE_DIR} + "/tests/unit/journal/fixtures/schema-1.sql"));
}

TEST_F(Migration, a_stored_journal_of_schema_1_opens_and_serves) {
  const std::string fixtures = std::string{RMGR_SOURCE_DIR} + "/tests/unit/journal/fixtures/";
  std::filesystem::create_directory(state());
  std::filesystem::permissions(state(), std::filesystem::perms::owner_all);
  {
    write_file(path(), "");
    std::filesystem::permissions(path(),
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    auto database = Database::open(path(), Access::read_write, "");
    ASSERT_OK(database);
    ASSERT_OK(database->execute(bytes_of(fixtures + "schema-1.sql")));
    ASSERT_OK(database->execute(bytes_of(fixtures + "schema-1-rows.sql")));
  }
  auto journal = open();
  ASSERT_NE(journal, nullptr);
  EXPECT_EQ(journal->installation().str(), "installation-1");
  auto active = journal->load_active();
  ASSERT_OK(active);
  ASSERT_EQ(active->size(), 1U);
  const domain::Attempt& busy = active->front();
  EXPECT_EQ(busy.state, domain::State::busy);
  EXPECT_EQ(busy.policy.labels, (std::vector<std::string>{"self-hosted", "linux"}));
  EXPECT_EQ(busy.process->start_token, ~0ULL);
  EXPECT_EQ(busy.runner->get(), 42);
  EXPECT_EQ(journal->recent(10)->size(), 2U);
  EXPECT_EQ(journal->events_of(busy.id)->size(), 2U);
  EXPECT_EQ(**journal->kv_get(domain::InstanceName{"github"}, "cursor"), "17");

  domain::Attempt finished = busy;
  finished.state = domain::State::finished;
  EXPECT_OK(journal->commit(batch({finished})));
}

}  // namespace agent::journal
