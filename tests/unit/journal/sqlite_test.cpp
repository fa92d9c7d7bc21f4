#include "journal/sqlite.hpp"

#include <gmock/gmock.h>

#include "unit/journal/fixture.hpp"

namespace agent::journal::sqlite {

using domain::ErrorCode;
using ::testing::HasSubstr;

class Wrapper : public JournalTest {
 protected:
  Database create() {
    auto database = Database::open(directory_ + "/x.db", Access::create, "");
    EXPECT_OK(database);
    EXPECT_OK(
        database->execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT UNIQUE CHECK (b <> 'no')) STRICT"));
    return std::move(*database);
  }
  static Result<void> insert(Database& database, std::int64_t a, const std::string& b) {
    auto statement = database.prepare("INSERT INTO t VALUES (?1, ?2)");
    if (!statement) return statement.error();
    return statement->bind(a).bind(b).run();
  }
};

TEST_F(Wrapper, failures_have_the_code_that_says_what_to_do) {
  auto database = create();
  ASSERT_OK(insert(database, 1, "one"));
  EXPECT_EQ(insert(database, 1, "other").error().code, ErrorCode::exists);
  EXPECT_EQ(insert(database, 2, "one").error().code, ErrorCode::exists);
  EXPECT_EQ(insert(database, 2, "no").error().code, ErrorCode::internal);
  EXPECT_EQ(insert(database, 2, std::string(5U << 20U, 'x')).error().code, ErrorCode::invalid);
  EXPECT_EQ(database.prepare("nonsense").error().code, ErrorCode::internal);
  EXPECT_EQ(database.execute("INSERT INTO t VALUES ('text', 'x')").error().code, ErrorCode::internal);
  EXPECT_EQ(database.integer("SELECT a FROM t WHERE a = 9").error().code, ErrorCode::not_found);
  EXPECT_THAT(insert(database, 1, "other").error().message, HasSubstr(directory_ + "/x.db"));
}

TEST_F(Wrapper, a_misspelt_column_in_double_quotes_is_an_error_and_not_a_string) {
  auto database = create();
  EXPECT_FALSE(database.prepare("SELECT \"no_such\" FROM t").ok());
}

TEST_F(Wrapper, opening_is_strict) {
  EXPECT_EQ(Database::open(directory_ + "/none.db", Access::read_write, "").error().code,
            ErrorCode::not_found);
  EXPECT_EQ(Database::open(directory_ + "/none.db", Access::read_only, "").error().code,
            ErrorCode::not_found);
  EXPECT_EQ(Database::open(directory_ + "/x.db", Access::create, "no such vfs").error().code,
            ErrorCode::internal);
  static_cast<void>(create());
  std::filesystem::create_symlink(directory_ + "/x.db", directory_ + "/link.db");
  EXPECT_EQ(Database::open(directory_ + "/link.db", Access::read_write, "").error().code, ErrorCode::denied);
}

TEST_F(Wrapper, a_cached_statement_starts_clean_each_time) {
  auto database = create();
  for (int i = 0; i < 3; ++i) {
    auto statement = database.prepare("SELECT ?1 IS NULL, ?2 IS NULL");
    ASSERT_OK(statement);
    if (i == 0) statement->bind("x").bind("y");
    ASSERT_TRUE(*statement->step());
    EXPECT_EQ(statement->integer(0), i == 0 ? 0 : 1);
  }
}

TEST_F(Wrapper, the_same_text_may_run_twice_at_once) {
  auto database = create();
  ASSERT_OK(insert(database, 1, "one"));
  ASSERT_OK(insert(database, 2, "two"));
  auto outer = database.prepare("SELECT a FROM t ORDER BY a");
  ASSERT_TRUE(*outer->step());
  {
    auto inner = database.prepare("SELECT a FROM t ORDER BY a");
    ASSERT_TRUE(*inner->step());
    EXPECT_EQ(inner->integer(0), 1);
  }
  ASSERT_TRUE(*outer->step());
  EXPECT_EQ(outer->integer(0), 2);
  EXPECT_FALSE(*outer->step());
}

TEST_F(Wrapper, too_many_parameters_are_reported_by_the_run) {
  auto database = create();
  auto statement = database.prepare("SELECT ?1");
  EXPECT_EQ(statement->bind("x").bind("y").step().error().code, ErrorCode::internal);
}

TEST_F(Wrapper, a_transaction_that_is_not_committed_leaves_nothing) {
  auto database = create();
  {
    auto transaction = Transaction::begin(database);
    ASSERT_OK(transaction);
    ASSERT_OK(insert(database, 1, "one"));
    EXPECT_TRUE(database.in_transaction());
  }
  EXPECT_FALSE(database.in_transaction());
  EXPECT_EQ(*database.integer("SELECT count(*) FROM t"), 0);
  {
    auto transaction = Transaction::begin(database);
    ASSERT_OK(insert(database, 1, "one"));
    ASSERT_OK(transaction->commit());
  }
  EXPECT_EQ(*database.integer("SELECT count(*) FROM t"), 1);
}

TEST_F(Wrapper, a_writer_beside_another_is_busy_after_its_patience) {
  auto first = create();
  auto second = Database::open(directory_ + "/x.db", Access::read_write, "");
  ASSERT_OK(second);
  second->busy_timeout(domain::Millis{10});
  auto held = Transaction::begin(first);
  ASSERT_OK(held);
  EXPECT_EQ(Transaction::begin(*second).error().code, ErrorCode::busy);
}

TEST_F(Wrapper, no_space_is_full_and_passes) {
  auto database = create();
  ASSERT_OK(database.integer("PRAGMA max_page_count = 8"));
  std::int64_t rows = 0;
  Result<void> last;
  while (last.ok() && rows < 1000) {
    ++rows;
    last = insert(database, rows, std::to_string(rows) + std::string(1000, 'x'));
  }
  ASSERT_FALSE(last.ok());
  EXPECT_EQ(last.error().code, ErrorCode::full);
  ASSERT_OK(database.integer("PRAGMA max_page_count = 1000"));
  EXPECT_OK(insert(database, rows, "now"));
}

TEST_F(Wrapper, values_keep_their_bytes) {
  auto database = create();
  auto statement = database.prepare("SELECT ?1, ?2, ?3, ?4, ?5");
  ASSERT_OK(statement);
  const std::string text("a\0b", 3);
  statement->bind(text).bind_blob("").bind("").bind_null().bind(std::numeric_limits<std::int64_t>::min());
  ASSERT_TRUE(*statement->step());
  EXPECT_EQ(statement->text(0), text);
  EXPECT_FALSE(statement->is_null(1));
  EXPECT_EQ(statement->blob(1), "");
  EXPECT_FALSE(statement->is_null(2));
  EXPECT_TRUE(statement->is_null(3));
  EXPECT_EQ(statement->integer(4), std::numeric_limits<std::int64_t>::min());
}

}  // namespace agent::journal::sqlite
