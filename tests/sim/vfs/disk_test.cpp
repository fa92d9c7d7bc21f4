// The disk itself, without SQLite.
#include "sim/vfs/disk.hpp"

#include <gtest/gtest.h>

namespace simulation {
namespace {

const auto kNothingSurvives = [] { return false; };

TEST(Disk, a_crash_leaves_what_was_synced) {
  Disk disk;
  const auto node = disk.open("/a", true);
  disk.write(*node, 0, "first");
  disk.sync(*node);
  disk.write(*node, 0, "SECOND");
  disk.truncate(*node, 2);
  EXPECT_EQ(node->written, "SE");
  disk.crash(kNothingSurvives);
  ASSERT_TRUE(disk.exists("/a"));
  EXPECT_EQ(disk.open("/a", false)->written, "first");
}

TEST(Disk, a_file_that_was_never_synced_is_gone_after_a_crash) {
  Disk disk;
  disk.write(*disk.open("/a", true), 0, "x");
  disk.crash(kNothingSurvives);
  EXPECT_FALSE(disk.exists("/a"));
  EXPECT_EQ(disk.used(), 0U);
}

TEST(Disk, a_deletion_is_durable_at_once) {
  Disk disk;
  const auto node = disk.open("/a", true);
  disk.sync(*node);
  disk.remove("/a");
  disk.crash(kNothingSurvives);
  EXPECT_FALSE(disk.exists("/a"));
}

TEST(Disk, unsynced_changes_survive_one_by_one_when_asked) {
  Disk disk;
  const auto node = disk.open("/a", true);
  disk.write(*node, 0, "aaaa");
  disk.sync(*node);
  disk.write(*node, 0, "b");
  disk.write(*node, 1, "c");
  int asked = 0;
  disk.crash([&] { return ++asked == 2; });
  EXPECT_EQ(disk.open("/a", false)->written, "acaa");
}

TEST(Disk, the_nth_operation_fails_once) {
  Disk disk;
  const auto node = disk.open("/a", true);
  disk.fail(Operation::write, 2, Fault::no_space);
  EXPECT_EQ(disk.write(*node, 0, "1"), Answer::done);
  EXPECT_EQ(disk.write(*node, 1, "2"), Answer::no_space);
  EXPECT_EQ(disk.write(*node, 1, "3"), Answer::done);
  EXPECT_EQ(node->written, "13");
  disk.fail(Operation::sync, 1, Fault::io_error);
  EXPECT_EQ(disk.sync(*node), Answer::io_error);
  EXPECT_EQ(node->unsynced.size(), 2U);
  EXPECT_EQ(disk.sync(*node), Answer::done);
}

TEST(Disk, after_a_power_cut_nothing_works_until_the_crash) {
  Disk disk;
  const auto node = disk.open("/a", true);
  disk.fail(Operation::sync, 1, Fault::power_cut);
  EXPECT_EQ(disk.sync(*node), Answer::io_error);
  EXPECT_EQ(disk.write(*node, 0, "x"), Answer::io_error);
  EXPECT_EQ(disk.remove("/a"), Answer::io_error);
  const auto before = disk.epoch();
  disk.crash(kNothingSurvives);
  EXPECT_NE(disk.epoch(), before);
  EXPECT_EQ(disk.write(*disk.open("/b", true), 0, "x"), Answer::done);
}

TEST(Disk, a_limit_holds_for_all_files_together) {
  Disk disk;
  disk.limit(10);
  const auto a = disk.open("/a", true);
  const auto b = disk.open("/b", true);
  EXPECT_EQ(disk.write(*a, 0, "123456"), Answer::done);
  EXPECT_EQ(disk.write(*b, 0, "12345"), Answer::no_space);
  EXPECT_EQ(disk.write(*b, 0, "1234"), Answer::done);
  EXPECT_EQ(disk.write(*b, 0, "4321"), Answer::done) << "overwriting needs no space";
  EXPECT_EQ(disk.used(), 10U);
  disk.remove("/a");
  EXPECT_EQ(disk.used(), 4U);
  EXPECT_EQ(disk.write(*b, 4, "567"), Answer::done);
}

TEST(Disk, counts_what_a_real_disk_would_do) {
  Disk disk;
  const auto node = disk.open("/a", true);
  disk.write(*node, 0, "1234");
  disk.sync(*node);
  EXPECT_EQ(disk.counters().writes, 1U);
  EXPECT_EQ(disk.counters().bytes_written, 4U);
  EXPECT_EQ(disk.counters().syncs, 1U);
}

}  // namespace
}  // namespace simulation
