#include "journal/attempt_store.hpp"
#include "journal/prune.hpp"
#include "journal/schema.hpp"
#include "journal/sqlite.hpp"
#include "unit/journal/fixture.hpp"

namespace agent::journal {

using domain::Attempt;

class History : public JournalTest {
 protected:
  sqlite::Database look() {
    auto database = sqlite::Database::open(path(), sqlite::Access::read_only, "");
    EXPECT_OK(database);
    return std::move(*database);
  }
  std::int64_t count(const std::string& from) {
    auto database = look();
    auto number = database.integer("SELECT count(*) FROM " + from);
    EXPECT_OK(number);
    return number.ok() ? *number : -1;
  }
  static std::vector<std::string> ids(const std::vector<Attempt>& attempts) {
    std::vector<std::string> made;
    for (const Attempt& attempt : attempts)
      made.push_back(attempt.id.str());
    return made;
  }
};

TEST_F(History, active_is_what_still_asks_for_something) {
  auto journal = open();
  std::vector<Attempt> all;
  std::vector<std::string> expected;
  int number = 0;
  for (int state = 0; state <= static_cast<int>(domain::State::cleaned); ++state) {
    Attempt attempt = sample::attempt(++number);
    attempt.state = static_cast<domain::State>(state);
    if (attempt.state != domain::State::cleaned) expected.push_back(attempt.id.str());
    all.push_back(attempt);
  }
  Attempt owing = sample::settled(++number, 1);
  owing.deregistration_owed = true;
  Attempt wanting = sample::settled(++number, 1);
  wanting.replacement_wanted = true;
  for (const Attempt& attempt : {owing, wanting}) {
    expected.push_back(attempt.id.str());
    all.push_back(attempt);
  }
  ASSERT_OK(journal->commit(batch(all)));
  auto active = journal->load_active();
  ASSERT_OK(active);
  EXPECT_EQ(ids(*active), expected);

  owing.deregistration_owed = false;
  wanting.replacement_wanted = false;
  ASSERT_OK(journal->commit(batch({owing, wanting})));
  expected.resize(expected.size() - 2);
  EXPECT_EQ(ids(*journal->load_active()), expected);
}

// The plan is the proof that a pass costs what is active and not what ever was.
TEST_F(History, active_is_read_from_its_own_index) {
  static_cast<void>(open());
  auto database = look();
  auto plan = database.prepare("EXPLAIN QUERY PLAN " + active_query());
  ASSERT_OK(plan);
  std::vector<std::string> steps;
  for (auto row = plan->step(); row.ok() && *row; row = plan->step())
    steps.push_back(plan->text(3));
  EXPECT_EQ(steps, std::vector<std::string>{"SCAN attempt USING INDEX attempt_active"});
}

TEST_F(History, equal_definitions_share_one_row) {
  auto journal = open();
  for (int number = 1; number <= 5; ++number)
    ASSERT_OK(journal->commit(batch({sample::attempt(number)})));
  journal.reset();
  journal = open();
  ASSERT_OK(journal->commit(batch({sample::attempt(6)})));
  EXPECT_EQ(count("policy_definition"), 1);
  Attempt other = sample::attempt(7);
  other.policy.labels = {"linux", "self-hosted", "x64"};
  ASSERT_OK(journal->commit(batch({other})));
  EXPECT_EQ(count("policy_definition"), 2) << "the order of labels is part of what was registered";
  EXPECT_EQ(count("policy_label"), 6);
}

TEST_F(History, pruning_removes_the_oldest_settled_in_small_steps) {
  auto journal = open();
  for (int number = 1; number <= 10; ++number) {
    const Attempt attempt = sample::settled(number, 100 * number);
    ASSERT_OK(journal->commit({{attempt}, {{attempt.id, sample::instant(1), "cleaned", ""}}}));
  }
  EXPECT_EQ(*journal->prune(801, 0, 3), 3);
  EXPECT_EQ(ids(*journal->recent(100)).back(), sample::attempt(4).id.str());
  EXPECT_EQ(*journal->prune(801, 0, 100), 5);
  EXPECT_EQ(*journal->prune(801, 0, 100), 0);
  EXPECT_EQ(count("attempt"), 2);
  EXPECT_EQ(count("event"), 2);
}

TEST_F(History, pruning_keeps_the_newest_however_old) {
  auto journal = open();
  for (int number = 1; number <= 10; ++number) {
    ASSERT_OK(journal->commit(batch({sample::settled(number, 100 * number)})));
  }
  EXPECT_EQ(*journal->prune(1'000'000, 10, 100), 0);
  EXPECT_EQ(*journal->prune(1'000'000, 11, 100), 0);
  EXPECT_EQ(*journal->prune(1'000'000, 4, 100), 6);
  const auto left = ids(*journal->recent(100));
  ASSERT_EQ(left.size(), 4U);
  EXPECT_EQ(left.back(), sample::attempt(7).id.str());
}

TEST_F(History, pruning_keeps_attempts_that_ended_in_the_same_millisecond_apart) {
  auto journal = open();
  for (int number = 1; number <= 5; ++number)
    ASSERT_OK(journal->commit(batch({sample::settled(number, 100)})));
  EXPECT_EQ(*journal->prune(101, 2, 100), 3);
  EXPECT_EQ(*journal->prune(100, 0, 100), 0) << "not before its own end";
}

TEST_F(History, pruning_never_takes_what_still_asks_for_something) {
  auto journal = open();
  Attempt owing = sample::settled(1, 1);
  owing.deregistration_owed = true;
  Attempt wanting = sample::settled(2, 1);
  wanting.replacement_wanted = true;
  Attempt failed = sample::attempt(3);
  failed.state = domain::State::failed;
  ASSERT_OK(journal->commit(batch({owing, wanting, failed})));
  EXPECT_EQ(*journal->prune(1'000'000, 0, 100), 0);
  EXPECT_EQ(count("attempt"), 3);
}

TEST_F(History, pruning_forgets_definitions_that_nobody_refers_to) {
  auto journal = open();
  Attempt old = sample::settled(1, 100);
  old.policy.max = 7;
  ASSERT_OK(journal->commit(batch({old, sample::attempt(2)})));
  EXPECT_EQ(count("policy_definition"), 2);
  EXPECT_EQ(*journal->prune(1000, 0, 10), 1);
  EXPECT_EQ(count("policy_definition"), 1);
  EXPECT_EQ(count("policy_label"), 3);
  Attempt again = sample::attempt(3);
  again.policy.max = 7;
  ASSERT_OK(journal->commit(batch({again})));
  EXPECT_EQ(**journal->find(again.id), again);
}

// Whatever changes an attempt, the number that pruning trusts is the number of rows.
TEST_F(History, the_tally_is_the_number_of_settled_attempts) {
  const std::string settled = "attempt WHERE " + std::string{kSettled};
  const auto tally = [&] {
    auto database = look();
    return *database.integer("SELECT settled FROM tally");
  };
  auto journal = open();
  Attempt owing = sample::settled(1, 100);
  owing.deregistration_owed = true;
  Attempt living = sample::attempt(2);
  ASSERT_OK(journal->commit(batch({owing, living, sample::settled(3, 100), sample::settled(4, 200)})));
  EXPECT_EQ(tally(), 2);
  owing.deregistration_owed = false;
  living.state = domain::State::cleaned;
  ASSERT_OK(journal->commit(batch({owing, living})));
  EXPECT_EQ(tally(), 4);
  EXPECT_EQ(count(settled), 4);
  owing.deregistration_owed = true;
  living.exit_code = 1;
  ASSERT_OK(journal->commit(batch({owing, living})));
  EXPECT_EQ(tally(), 3);
  // Another fact that is refused takes its neighbours' change back with it.
  owing.deregistration_owed = false;
  living.runtime = "/elsewhere";
  EXPECT_FALSE(journal->commit(batch({owing, living})).ok());
  EXPECT_EQ(tally(), 3);
  EXPECT_EQ(*journal->prune(150, 0, 100), 1);
  EXPECT_EQ(tally(), 2);
  EXPECT_EQ(count(settled), 2);
}

// What a step of pruning reads: the one number, and no more rows than it removes.
TEST_F(History, pruning_reads_no_more_than_it_removes) {
  static_cast<void>(open());
  auto database = look();
  auto plan = database.prepare("EXPLAIN QUERY PLAN " + prune_query());
  ASSERT_OK(plan);
  std::vector<std::string> steps;
  for (auto row = plan->step(); row.ok() && *row; row = plan->step())
    steps.push_back(plan->text(3));
  EXPECT_EQ(steps,
            (std::vector<std::string>{"SEARCH attempt USING INTEGER PRIMARY KEY (rowid=?)", "LIST SUBQUERY 1",
                                      "SEARCH attempt USING INDEX attempt_settled (changed_wall_ms<?)"}));
}

TEST_F(History, a_limit_of_nothing_prunes_nothing) {
  auto journal = open();
  ASSERT_OK(journal->commit(batch({sample::settled(1, 1)})));
  EXPECT_EQ(*journal->prune(100, 0, 0), 0);
  EXPECT_EQ(*journal->prune(100, 0, -1), 0);
}

}  // namespace agent::journal
