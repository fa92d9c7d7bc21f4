#include <gmock/gmock.h>
#include <unistd.h>

#include "journal/sqlite.hpp"
#include "unit/journal/fixture.hpp"

namespace agent::journal {

using domain::ErrorCode;
using ::testing::HasSubstr;

class Opening : public JournalTest {
 protected:
  void make_with_history(int attempts) {
    auto journal = open();
    std::vector<domain::Attempt> all;
    for (int number = 1; number <= attempts; ++number)
      all.push_back(sample::attempt(number));
    ASSERT_OK(journal->commit(batch(std::move(all))));
  }
  domain::Error refusal(const OpenOptions& options) {
    auto journal = Journal::open(options);
    EXPECT_FALSE(journal.ok());
    return journal.ok() ? domain::Error{} : journal.error();
  }
  // Changes the file behind the journal's back.
  void run(const std::string& script) {
    auto database = sqlite::Database::open(path(), sqlite::Access::read_write, "");
    ASSERT_OK(database);
    database->keep_tidy();
    ASSERT_OK(database->execute(script));
  }
};

TEST_F(Opening, a_new_journal_keeps_the_ids_it_was_made_with) {
  EXPECT_EQ(open()->installation().str(), "installation-1");
  OpenOptions later = options();
  later.installation = "installation-2";
  EXPECT_EQ(open(later)->installation().str(), "installation-1");
}

TEST_F(Opening, a_new_journal_is_for_its_owner_alone) {
  const auto journal = open();
  EXPECT_EQ(mode_of(state()), 0700U);
  EXPECT_EQ(mode_of(path()), 0600U);
  ASSERT_OK(journal->commit(batch({sample::attempt(1)})));
  EXPECT_EQ(mode_of(path() + "-wal"), 0600U);
  EXPECT_EQ(mode_of(path() + "-shm"), 0600U);
  EXPECT_FALSE(std::filesystem::exists(path() + ".new"));
}

TEST_F(Opening, a_new_journal_needs_both_ids) {
  OpenOptions nameless = options();
  nameless.installation.clear();
  EXPECT_EQ(refusal(nameless).code, ErrorCode::internal);
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(Opening, what_a_first_start_left_unfinished_is_no_obstacle) {
  std::filesystem::create_directory(state());
  std::filesystem::permissions(state(), std::filesystem::perms::owner_all);
  write_file(path() + ".new", "half");
  write_file(path() + ".new-wal", "half");
  EXPECT_NE(open(), nullptr);
}

TEST_F(Opening, a_journal_of_another_machine_is_refused_until_it_is_adopted) {
  make_with_history(1);
  OpenOptions elsewhere = options();
  elsewhere.machine = "machine-2";
  const auto refused = refusal(elsewhere);
  EXPECT_EQ(refused.code, ErrorCode::denied);
  EXPECT_THAT(refused.message, HasSubstr("adopt-installation"));

  elsewhere.adopt_machine = true;
  EXPECT_EQ(open(elsewhere)->installation().str(), "installation-1");
  elsewhere.adopt_machine = false;
  EXPECT_NE(open(elsewhere), nullptr);
  EXPECT_EQ(refusal(options()).code, ErrorCode::denied);
}

TEST_F(Opening, a_newer_schema_is_refused_and_left_as_it_is) {
  make_with_history(1);
  run("PRAGMA user_version = 99");
  const std::string before = bytes_of(path());
  const auto refused = refusal(options());
  EXPECT_EQ(refused.code, ErrorCode::unsupported);
  EXPECT_THAT(refused.message, HasSubstr("99"));
  OpenOptions reading = options();
  reading.read_only = true;
  EXPECT_EQ(refusal(reading).code, ErrorCode::unsupported);
  EXPECT_EQ(bytes_of(path()), before);
}

TEST_F(Opening, a_file_that_is_no_database_is_refused_with_the_way_out_and_kept) {
  make_with_history(1);
  const std::string garbage(8192, 'x');
  write_file(path(), garbage);
  const auto refused = refusal(options());
  EXPECT_EQ(refused.code, ErrorCode::corrupt);
  EXPECT_THAT(refused.message, HasSubstr(path()));
  EXPECT_THAT(refused.message, HasSubstr("docs/journal.md"));
  EXPECT_EQ(bytes_of(path()), garbage);
}

TEST_F(Opening, a_database_of_another_program_is_refused_and_kept) {
  make_with_history(0);
  run("PRAGMA application_id = 7");
  const std::string before = bytes_of(path());
  EXPECT_EQ(refusal(options()).code, ErrorCode::corrupt);
  EXPECT_EQ(bytes_of(path()), before);
}

TEST_F(Opening, damage_within_the_pages_is_found_and_the_file_kept) {
  make_with_history(400);
  std::string damaged = bytes_of(path());
  ASSERT_GT(damaged.size(), 40U * 4096);
  for (std::size_t i = 10 * 4096; i < 30 * 4096; ++i)
    damaged[i] = static_cast<char>(i * 31);
  write_file(path(), damaged);
  const auto refused = refusal(options());
  EXPECT_EQ(refused.code, ErrorCode::corrupt) << refused.message;
  EXPECT_THAT(refused.message, HasSubstr("docs/journal.md"));
  EXPECT_EQ(bytes_of(path()), damaged);
}

// A file that was cut is never a shorter history, least of all an empty one.
TEST_F(Opening, a_cut_file_is_refused_at_every_length) {
  make_with_history(20);
  const std::string whole = bytes_of(path());
  std::vector<std::size_t> lengths{0, 1, 15, 16, 99, 100, 511, 512, 4095};
  for (std::size_t length = 4096; length < whole.size(); length += 1531)
    lengths.push_back(length);
  for (std::size_t length = 4096; length < whole.size(); length += 4096)
    lengths.push_back(length);
  for (const std::size_t length : lengths) {
    const std::string cut = whole.substr(0, length);
    write_file(path(), cut);
    EXPECT_EQ(refusal(options()).code, ErrorCode::corrupt) << length << " of " << whole.size();
    EXPECT_EQ(bytes_of(path()), cut) << length;
  }
  write_file(path(), whole);
  EXPECT_EQ(open()->load_active()->size(), 20U);
}

TEST_F(Opening, a_log_without_its_journal_is_refused) {
  make_with_history(1);
  std::filesystem::remove(path());
  write_file(path() + "-wal", "the log of the journal that somebody took away");
  const auto refused = refusal(options());
  EXPECT_EQ(refused.code, ErrorCode::corrupt);
  EXPECT_TRUE(std::filesystem::exists(path() + "-wal"));
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(Opening, is_refused_when_others_can_write) {
  make_with_history(1);
  ASSERT_EQ(::chmod(state().c_str(), 0770), 0);
  auto refused = refusal(options());
  EXPECT_EQ(refused.code, ErrorCode::denied);
  EXPECT_THAT(refused.message, HasSubstr("chmod go-w " + state()));
  ASSERT_EQ(::chmod(state().c_str(), 0700), 0);
  ASSERT_EQ(::chmod(path().c_str(), 0602), 0);
  refused = refusal(options());
  EXPECT_EQ(refused.code, ErrorCode::denied);
  EXPECT_THAT(refused.message, HasSubstr("chmod go-w " + path()));
}

TEST_F(Opening, is_refused_when_another_account_owns_it) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file to another account";
  make_with_history(1);
  ASSERT_EQ(::chown(path().c_str(), 12345, 12345), 0);
  EXPECT_EQ(refusal(options()).code, ErrorCode::denied);
}

TEST_F(Opening, a_symbolic_link_in_place_of_the_file_is_refused) {
  make_with_history(1);
  std::filesystem::rename(path(), state() + "/elsewhere.db");
  std::filesystem::create_symlink(state() + "/elsewhere.db", path());
  EXPECT_EQ(refusal(options()).code, ErrorCode::denied);
}

TEST_F(Opening, a_linked_way_to_the_directory_is_followed) {
  make_with_history(1);
  std::filesystem::create_directory_symlink(state(), directory_ + "/link");
  OpenOptions linked = options();
  linked.path = directory_ + "/link/journal.db";
  EXPECT_EQ(open(linked)->load_active()->size(), 1U);
}

TEST_F(Opening, a_missing_parent_is_an_error) {
  OpenOptions nowhere = options();
  nowhere.path = directory_ + "/a/b/journal.db";
  EXPECT_EQ(refusal(nowhere).code, ErrorCode::not_found);
}

TEST_F(Opening, an_exclusive_journal_is_busy_for_others) {
  OpenOptions alone = options();
  alone.exclusive = true;
  const auto journal = open(alone);
  ASSERT_OK(journal->commit(batch({sample::attempt(1)})));
  EXPECT_EQ(refusal(alone).code, ErrorCode::busy);
}

TEST_F(Opening, skipping_the_page_check_still_reads_everything) {
  make_with_history(3);
  OpenOptions quick = options();
  quick.check = false;
  EXPECT_EQ(open(quick)->load_active()->size(), 3U);
}

class Reading : public Opening {
 protected:
  [[nodiscard]] OpenOptions reading() const {
    OpenOptions made;
    made.path = path();
    made.read_only = true;
    return made;
  }
};

TEST_F(Reading, needs_a_journal) {
  EXPECT_EQ(refusal(reading()).code, ErrorCode::not_found);
  EXPECT_FALSE(std::filesystem::exists(state())) << "reading makes nothing";
  std::filesystem::create_directory(state());
  EXPECT_EQ(refusal(reading()).code, ErrorCode::not_found);
}

TEST_F(Reading, works_beside_an_open_writer_and_sees_its_commits) {
  auto writer = open();
  ASSERT_OK(writer->commit(batch({sample::attempt(1)})));
  auto reader = open(reading());
  EXPECT_EQ(reader->load_active()->size(), 1U);
  ASSERT_OK(writer->commit(batch({sample::attempt(2)})));
  EXPECT_EQ(reader->load_active()->size(), 2U);
  EXPECT_EQ(reader->installation().str(), "installation-1");
}

TEST_F(Reading, works_after_the_writer_has_closed) {
  make_with_history(4);
  EXPECT_EQ(open(reading())->recent(10)->size(), 4U);
  EXPECT_EQ(open()->load_active()->size(), 4U);
}

TEST_F(Reading, writes_nothing) {
  make_with_history(1);
  auto reader = open(reading());
  EXPECT_EQ(reader->commit(batch({sample::attempt(2)})).error().code, ErrorCode::denied);
  EXPECT_EQ(reader->kv_put(domain::InstanceName{"a"}, "k", "v").error().code, ErrorCode::denied);
  EXPECT_EQ(reader->prune(100, 0, 1).error().code, ErrorCode::denied);
  EXPECT_EQ(open()->load_active()->size(), 1U);
}

TEST_F(Reading, a_word_that_means_nothing_is_an_error_and_not_a_default) {
  make_with_history(1);
  run("PRAGMA ignore_check_constraints = ON; UPDATE attempt SET state = 'dreaming'");
  OpenOptions unchecked = options();
  unchecked.check = false;
  auto journal = open(unchecked);
  const auto active = journal->load_active();
  ASSERT_FALSE(active.ok());
  EXPECT_EQ(active.error().code, ErrorCode::corrupt);
  EXPECT_THAT(active.error().message, HasSubstr("state"));
  EXPECT_FALSE(journal->recent(5).ok());
}

}  // namespace agent::journal
