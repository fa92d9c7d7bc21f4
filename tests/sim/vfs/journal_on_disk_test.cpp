// The real journal over the forgetful disk: what commit() reported as done is there after every crash.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <map>
#include <random>

#include "journal/journal.hpp"
#include "sim/vfs/memory_vfs.hpp"
#include "unit/journal/sample.hpp"

namespace agent::journal {
namespace {

using domain::Attempt;
using domain::ErrorCode;
using simulation::Fault;
using simulation::MemoryVfs;

OpenOptions options_for(const MemoryVfs& disk) {
  OpenOptions options;
  options.path = "/journal.db";
  options.vfs = disk.name();
  options.exclusive = true;
  options.installation = "installation-1";
  options.machine = "machine-1";
  return options;
}

std::unique_ptr<Journal> open_on(const MemoryVfs& disk) {
  auto journal = Journal::open(options_for(disk));
  if (!journal) {
    ADD_FAILURE() << journal.error().message;
    return nullptr;
  }
  return std::move(*journal);
}

// What must be there, and what may be: a commit that reported an error may still have reached the disk before
// the power went.
struct Model {
  std::map<std::string, Attempt> certain;
  std::vector<Attempt> last_failed;

  void done(const std::vector<Attempt>& attempts) {
    for (const Attempt& attempt : attempts)
      certain.insert_or_assign(attempt.id.str(), attempt);
    last_failed.clear();
  }
  // All of the failed batch or nothing of it.
  void check(Journal& journal) {
    bool all = !last_failed.empty();
    bool none = true;
    for (const Attempt& attempt : last_failed) {
      auto found = journal.find(attempt.id);
      ASSERT_TRUE(found.ok()) << found.error().message;
      const bool written = found->has_value() && **found == attempt;
      all = all && written;
      none = none && !written;
    }
    EXPECT_TRUE(all || none) << "half a batch is there";
    if (all) done(std::vector<Attempt>{last_failed});
    last_failed.clear();
    for (const auto& [id, attempt] : certain) {
      auto found = journal.find(attempt.id);
      ASSERT_TRUE(found.ok()) << found.error().message;
      ASSERT_TRUE(found->has_value()) << id << " was committed and is gone";
      EXPECT_EQ(**found, attempt) << id;
    }
  }
};

class Histories : public ::testing::Test {
 protected:
  // New attempts, and changes of some that are known; never two rows of one attempt in one batch.
  std::vector<Attempt> random_batch() {
    std::map<std::string, Attempt> chosen;
    for (std::uint64_t left = 1 + random_() % 4; left > 0; --left) {
      const bool change = !model_.certain.empty() && random_() % 3 != 0;
      Attempt attempt =
          change ? sample::changed(std::next(model_.certain.begin(),
                                             static_cast<std::ptrdiff_t>(random_() % model_.certain.size()))
                                       ->second,
                                   random_)
                 : sample::random_attempt(++numbers_, random_);
      chosen.insert_or_assign(attempt.id.str(), std::move(attempt));
    }
    std::vector<Attempt> batch;
    for (auto& [id, attempt] : chosen)
      batch.push_back(std::move(attempt));
    return batch;
  }

  void commit(Journal& journal) {
    auto batch = random_batch();
    if (journal.commit({batch, {}})) {
      model_.done(batch);
    } else {
      model_.last_failed = std::move(batch);
    }
  }

  std::mt19937_64 random_;
  Model model_;
  int numbers_ = 0;
};

// Crashes between commits and in the middle of any write or sync of one, on a disk that forgets everything
// unsynced and on one that forgets some of it.
TEST_F(Histories, what_was_committed_survives_every_crash) {
  int failures = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    random_.seed(seed);
    model_ = {};
    numbers_ = 0;
    MemoryVfs disk{"histories"};
    for (int life = 0; life < 6; ++life) {
      auto journal = open_on(disk);
      ASSERT_NE(journal, nullptr) << "seed " << seed;
      model_.check(*journal);
      if (HasFailure()) FAIL() << "seed " << seed << ", life " << life;
      if (random_() % 4 != 0) {
        const auto operation =
            random_() % 2 == 0 ? simulation::Operation::write : simulation::Operation::sync;
        disk.fail(operation, 1 + random_() % (operation == simulation::Operation::write ? 60 : 12),
                  Fault::power_cut);
      }
      for (std::uint64_t left = 1 + random_() % 10; left > 0 && model_.last_failed.empty(); --left)
        commit(*journal);
      failures += model_.last_failed.empty() ? 0 : 1;
      const bool kind = random_() % 2 == 0;
      disk.crash([&] { return !kind && random_() % 2 == 0; });
    }
  }
  EXPECT_GT(failures, 100) << "the faults must really hit commits";
}

// The first start is interrupted at each of its operations in turn; the next one makes the journal.
TEST(FirstStart, interrupted_anywhere_leaves_nothing_that_stops_the_next) {
  for (const auto operation : {simulation::Operation::write, simulation::Operation::sync}) {
    bool finished = false;
    for (std::uint64_t nth = 1; !finished; ++nth) {
      ASSERT_LT(nth, 500U);
      MemoryVfs disk{"first-start"};
      disk.fail(operation, nth, Fault::power_cut);
      finished = Journal::open(options_for(disk)).ok();
      disk.crash();
      auto journal = open_on(disk);
      ASSERT_NE(journal, nullptr) << nth;
      EXPECT_TRUE(journal->commit({{sample::attempt(1)}, {}}).ok());
    }
  }
}

// Not a crash: a single operation of a commit fails, the process lives on. The journal is usable afterwards
// and holds what it reported, before and after a later crash.
TEST(Faults, a_failed_operation_fails_the_commit_alone) {
  for (const auto operation : {simulation::Operation::write, simulation::Operation::sync}) {
    for (const auto fault : {Fault::io_error, Fault::no_space}) {
      MemoryVfs disk{"faults"};
      auto journal = open_on(disk);
      ASSERT_NE(journal, nullptr);
      ASSERT_TRUE(journal->commit({{sample::attempt(1)}, {}}).ok());
      disk.fail(operation, 1, fault);
      const auto failed = journal->commit({{sample::attempt(2)}, {}});
      ASSERT_FALSE(failed.ok());
      EXPECT_EQ(failed.error().code, fault == Fault::no_space ? ErrorCode::full : ErrorCode::retry)
          << failed.error().message;
      EXPECT_TRUE(journal->find(sample::attempt(1).id)->has_value());
      EXPECT_FALSE(journal->find(sample::attempt(2).id)->has_value());
      ASSERT_TRUE(journal->commit({{sample::attempt(3)}, {}}).ok());
      disk.crash();
      journal.reset();
      journal = open_on(disk);
      ASSERT_NE(journal, nullptr);
      EXPECT_TRUE(journal->find(sample::attempt(1).id)->has_value());
      EXPECT_TRUE(journal->find(sample::attempt(3).id)->has_value());
    }
  }
}

TEST(Faults, a_full_disk_fails_commits_until_there_is_space) {
  MemoryVfs disk{"full"};
  auto journal = open_on(disk);
  ASSERT_NE(journal, nullptr);
  disk.limit(disk.used() + 100'000);
  int number = 0;
  Result<void> last;
  while (last.ok() && number < 100)
    last = journal->commit({{sample::attempt(++number)}, {}});
  ASSERT_FALSE(last.ok());
  EXPECT_EQ(last.error().code, ErrorCode::full) << last.error().message;
  ASSERT_GT(number, 1);
  EXPECT_EQ(journal->load_active()->size(), static_cast<std::size_t>(number - 1));
  disk.limit(0);
  EXPECT_TRUE(journal->commit({{sample::attempt(number)}, {}}).ok());
}

TEST(Disk, a_dead_journal_changes_nothing_after_the_crash) {
  MemoryVfs disk{"dead"};
  auto dead = open_on(disk);
  ASSERT_TRUE(dead->commit({{sample::attempt(1)}, {}}).ok());
  disk.crash();
  auto journal = open_on(disk);
  ASSERT_NE(journal, nullptr);
  ASSERT_TRUE(journal->commit({{sample::attempt(2)}, {}}).ok());
  EXPECT_FALSE(dead->commit({{sample::attempt(3)}, {}}).ok());
  dead.reset();
  EXPECT_EQ(journal->load_active()->size(), 2U);
  disk.crash();
  journal.reset();
  journal = open_on(disk);
  ASSERT_NE(journal, nullptr);
  EXPECT_EQ(journal->load_active()->size(), 2U);
}

TEST(Disk, a_second_journal_on_the_same_file_is_busy) {
  MemoryVfs disk{"busy"};
  auto first = open_on(disk);
  auto second = Journal::open(options_for(disk));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::busy);
}

TEST(Disk, one_commit_costs_one_sync) {
  MemoryVfs disk{"syncs"};
  auto journal = open_on(disk);
  ASSERT_TRUE(journal->commit({{sample::attempt(1)}, {}}).ok());
  const auto before = disk.counters().syncs;
  std::vector<Attempt> burst;
  for (int number = 2; number <= 41; ++number)
    burst.push_back(sample::attempt(number));
  ASSERT_TRUE(journal->commit({burst, {}}).ok());
  EXPECT_EQ(disk.counters().syncs - before, 1U);
}

TEST(Disk, a_new_disk_starts_from_the_image_of_another) {
  std::shared_ptr<const MemoryVfs::Image> image;
  {
    MemoryVfs disk{"original"};
    auto journal = open_on(disk);
    ASSERT_TRUE(journal->commit({{sample::attempt(1)}, {}}).ok());
    journal.reset();
    image = disk.image();
  }
  MemoryVfs disk{"copy"};
  disk.load(image);
  auto journal = open_on(disk);
  ASSERT_NE(journal, nullptr);
  EXPECT_TRUE(journal->find(sample::attempt(1).id)->has_value());
}

}  // namespace
}  // namespace agent::journal
