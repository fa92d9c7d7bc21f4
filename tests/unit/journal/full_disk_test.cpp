// A real full file system: a small tmpfs, which only root can mount.
#include <sys/mount.h>
#include <unistd.h>

#include "unit/journal/fixture.hpp"

namespace agent::journal {

using domain::ErrorCode;

class FullDisk : public JournalTest {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can mount a small file system";
    std::filesystem::create_directory(state());
    if (::mount("journal-test", state().c_str(), "tmpfs", 0, "size=2m,mode=0700") != 0) {
      GTEST_SKIP() << "this kernel or container does not allow mounting a tmpfs";
    }
    mounted_ = true;
  }
  void TearDown() override {
    if (!mounted_) return;
    EXPECT_EQ(::umount2(state().c_str(), MNT_DETACH), 0);
  }
  void fill() {
    std::ofstream out(ballast(), std::ios::binary);
    const std::string block(4096, 'x');
    while (out.write(block.data(), static_cast<std::streamsize>(block.size())) && out.flush())
      continue;
  }
  [[nodiscard]] std::string ballast() const { return state() + "/ballast"; }
  bool mounted_ = false;
};

TEST_F(FullDisk, commits_fail_as_full_and_work_again_once_there_is_space) {
  for (const bool exclusive : {false, true}) {
    OpenOptions made = options();
    made.path = state() + (exclusive ? "/b.db" : "/a.db");
    made.exclusive = exclusive;
    auto journal = open(made);
    ASSERT_NE(journal, nullptr);
    ASSERT_OK(journal->commit(batch({sample::attempt(1)})));
    fill();
    int number = 1;
    Result<void> last;
    while (last.ok() && number < 1000)
      last = journal->commit(batch({sample::attempt(++number)}));
    ASSERT_FALSE(last.ok());
    EXPECT_EQ(last.error().code, ErrorCode::full) << last.error().message;
    EXPECT_EQ(journal->load_active()->size(), static_cast<std::size_t>(number - 1));

    std::filesystem::remove(ballast());
    ASSERT_OK(journal->commit(batch({sample::attempt(number)})));
    journal.reset();
    EXPECT_EQ(open(made)->load_active()->size(), static_cast<std::size_t>(number));
  }
}

TEST_F(FullDisk, a_journal_cannot_be_made_and_leaves_no_half) {
  fill();
  auto refused = Journal::open(options());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::full) << refused.error().message;
  EXPECT_FALSE(std::filesystem::exists(path()));
  std::filesystem::remove(ballast());
  EXPECT_NE(open(), nullptr);
}

TEST_F(FullDisk, a_reserve_that_does_not_fit_is_not_half_there) {
  const auto refused = ensure_reserve(state());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::full);
  EXPECT_FALSE(std::filesystem::exists(state() + "/reserve"));
}

}  // namespace agent::journal
