#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "unit/journal/fixture.hpp"

namespace agent::journal {

using domain::ErrorCode;
using domain::Millis;
using ::testing::HasSubstr;

namespace {

constexpr Millis kAtOnce{0};

// A pipe whose end of file says that everybody who held the other end is gone.
struct Pipe {
  Pipe() {
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  void close_end(int which) {
    if (ends[which] >= 0) ::close(ends[which]);
    ends[which] = -1;
  }
  int ends[2] = {-1, -1};
};

}  // namespace

class Lock : public JournalTest {
 protected:
  // A process that takes the lock, starts a child that lives on without it, and says the child's pid.
  void start_holder(bool with_child) {
    holder_ = ::fork();
    ASSERT_GE(holder_, 0);
    if (holder_ == 0) hold(with_child);
    said_.close_end(1);
    ASSERT_EQ(::read(said_.ends[0], &grandchild_, sizeof grandchild_),
              static_cast<ssize_t>(sizeof grandchild_));
  }
  [[noreturn]] void hold(bool with_child) {
    auto lock = StateLock::acquire(state(), kAtOnce);
    if (!lock) ::_exit(1);
    pid_t child = 0;
    if (with_child) {
      child = ::fork();
      if (child == 0) {
        // Inherits every descriptor, as a child that was started carelessly would.
        for (;;)
          ::pause();
      }
    }
    if (::write(said_.ends[1], &child, sizeof child) != static_cast<ssize_t>(sizeof child)) ::_exit(1);
    for (;;)
      ::pause();
  }
  void kill_holder() {
    ASSERT_EQ(::kill(holder_, SIGKILL), 0);
    ASSERT_EQ(::waitpid(holder_, nullptr, 0), holder_);
    holder_ = -1;
  }
  void TearDown() override {
    if (grandchild_ > 0) ::kill(grandchild_, SIGKILL);
    if (holder_ > 0) {
      ::kill(holder_, SIGKILL);
      ::waitpid(holder_, nullptr, 0);
    }
  }

  Pipe said_;
  pid_t holder_ = -1;
  pid_t grandchild_ = 0;
};

TEST_F(Lock, is_taken_once_and_free_after_its_end) {
  {
    auto lock = StateLock::acquire(state(), kAtOnce);
    ASSERT_OK(lock);
    EXPECT_EQ(mode_of(state()), 0700U);
    EXPECT_EQ(mode_of(state() + "/lock"), 0600U);
  }
  start_holder(false);
}

TEST_F(Lock, another_process_is_refused_and_told_who_holds_it) {
  start_holder(false);
  const auto refused = StateLock::acquire(state(), Millis{50});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::busy);
  EXPECT_THAT(refused.error().message, HasSubstr("process " + std::to_string(holder_)));
}

TEST_F(Lock, is_free_once_its_holder_was_killed_although_a_child_lives_on) {
  start_holder(true);
  ASSERT_FALSE(StateLock::acquire(state(), kAtOnce).ok());
  kill_holder();
  ASSERT_EQ(::kill(grandchild_, 0), 0) << "the child must outlive the holder";
  EXPECT_OK(StateLock::acquire(state(), kAtOnce));
}

TEST_F(Lock, waits_for_a_holder_that_goes) {
  start_holder(false);
  std::thread killer([this] { kill_holder(); });
  EXPECT_OK(StateLock::acquire(state(), Millis{20'000}));
  killer.join();
}

TEST_F(Lock, moves_with_its_owner) {
  auto first = StateLock::acquire(state(), kAtOnce);
  ASSERT_OK(first);
  StateLock second = std::move(*first);
  StateLock third = std::move(second);
  second = std::move(third);
  // Still held: another process is refused.
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(StateLock::acquire(state(), kAtOnce).ok() ? 1 : 0);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(Lock, is_refused_in_a_directory_that_others_can_write) {
  std::filesystem::create_directory(state());
  ASSERT_EQ(::chmod(state().c_str(), 0777), 0);
  EXPECT_EQ(StateLock::acquire(state(), kAtOnce).error().code, ErrorCode::denied);
}

using Reserve = JournalTest;

off_t allocated(const std::string& file) {
  struct stat info {};
  return ::stat(file.c_str(), &info) == 0 ? off_t{info.st_blocks} * 512 : 0;
}

constexpr off_t k16MiB = off_t{16} << 20U;

TEST_F(Reserve, really_holds_its_space_until_it_is_given_up) {
  const std::string file = state() + "/reserve";
  ASSERT_OK(ensure_reserve(state()));
  EXPECT_GE(allocated(file), k16MiB);
  EXPECT_EQ(mode_of(file), 0600U);
  ASSERT_OK(ensure_reserve(state()));
  ASSERT_OK(give_up_reserve(state()));
  EXPECT_FALSE(std::filesystem::exists(file));
  ASSERT_OK(give_up_reserve(state()));
}

TEST_F(Reserve, a_file_with_holes_is_filled) {
  const std::string file = state() + "/reserve";
  std::filesystem::create_directory(state());
  std::filesystem::permissions(state(), std::filesystem::perms::owner_all);
  write_file(file, "");
  std::filesystem::resize_file(file, static_cast<std::uintmax_t>(k16MiB));
  ASSERT_LT(allocated(file), k16MiB);
  ASSERT_OK(ensure_reserve(state()));
  EXPECT_GE(allocated(file), k16MiB);
}

}  // namespace agent::journal
