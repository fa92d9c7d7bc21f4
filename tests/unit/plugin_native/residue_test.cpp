// Real processes and IPC objects of an account that nothing else uses.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "native/provider.hpp"
#include "native/residue.hpp"
#include "native/shared_directories.hpp"
#include "support/accounts.hpp"
#include "unit/plugin_native/fakes.hpp"

namespace native {
namespace {

class ResidueTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can leave something behind as another account";
  }
  // Runs `act` as the account in a child and waits for it.
  void as_account(const std::function<bool()>& act) const {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(::setgid(uid) == 0 && ::setuid(uid) == 0 && act() ? 0 : 1);
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    ASSERT_EQ(status, 0);
  }
  testing::Call call_;
  const testkit::AccountRange accounts_;
  const std::uint32_t uid = accounts_.first();
  const std::string name_ = std::to_string(uid);
};

TEST_F(ResidueTest, EndsEveryProcessOfTheAccountAndNoOther) {
  const pid_t other = ::fork();
  if (other == 0) {
    for (;;)
      ::pause();
  }
  as_account([] {
    for (int i = 0; i < 3; ++i) {
      if (::fork() == 0) {
        ::setsid();
        std::signal(SIGTERM, SIG_IGN);
        for (;;)
          ::pause();
      }
    }
    return true;
  });
  EXPECT_EQ(count_processes(uid), 3U);
  end_processes(call_.view(), uid, rmgr::Millis(10'000));
  EXPECT_EQ(count_processes(uid), 0U);
  EXPECT_EQ(::kill(other, 0), 0);
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
}

TEST_F(ResidueTest, RemovesSystemVObjectsOfTheAccountAndNoOther) {
  const int mine = ::shmget(IPC_PRIVATE, 4096, 0600);
  ASSERT_GE(mine, 0);
  as_account([] {
    return ::shmget(IPC_PRIVATE, 4096, 0600) >= 0 && ::msgget(IPC_PRIVATE, 0600) >= 0 &&
           ::semget(IPC_PRIVATE, 1, 0600) >= 0;
  });
  const auto owned = [&](const char* table) {
    std::size_t count = 0;
    const std::string text = testing::read_text(std::string("/proc/sysvipc/") + table);
    for (std::size_t at = 0; (at = text.find(' ' + name_ + ' ', at)) != std::string::npos; at += name_.size())
      ++count;
    return count;
  };
  for (const char* table : {"shm", "msg", "sem"})
    EXPECT_GT(owned(table), 0U) << table;
  remove_ipc(uid);
  for (const char* table : {"shm", "msg", "sem"})
    EXPECT_EQ(owned(table), 0U) << table;
  shmid_ds info{};
  EXPECT_EQ(::shmctl(mine, IPC_STAT, &info), 0);
  ::shmctl(mine, IPC_RMID, nullptr);
}

TEST_F(ResidueTest, RemovesFilesOfTheAccountInSharedDirectoriesAndNoOther) {
  namespace fs = std::filesystem;
  const testing::Directory directory;
  const std::string root = directory.path();
  testing::write_text(root + "/root-file", "x");
  testing::write_text(root + "/job-file", "x");
  fs::create_directories(root + "/job-directory/deep");
  testing::write_text(root + "/job-directory/deep/root-file", "x");
  fs::create_symlink(root + "/root-file", root + "/job-link");
  for (const char* entry : {"/job-file", "/job-directory", "/job-link"})
    ASSERT_EQ(::lchown((root + entry).c_str(), uid, uid), 0);
  remove_files(call_.view(), uid, {root, root + "/none"});
  EXPECT_TRUE(fs::exists(root + "/root-file"));
  EXPECT_EQ(std::distance(fs::directory_iterator(root), fs::directory_iterator()), 1);
}

TEST_F(ResidueTest, RemovesMessageQueuesOfTheAccountAndNoOther) {
  const std::string mine = "/rmgr-test-root-" + name_;
  const std::string theirs = "/rmgr-test-job-" + name_;
  const mqd_t kept = ::mq_open(mine.c_str(), O_CREAT | O_RDWR, 0600, nullptr);
  ASSERT_GE(kept, 0);
  as_account([&] { return ::mq_open(theirs.c_str(), O_CREAT | O_RDWR, 0600, nullptr) >= 0; });
  remove_message_queues(call_.view(), uid);
  EXPECT_LT(::mq_open(theirs.c_str(), O_RDWR), 0);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(::mq_unlink(mine.c_str()), 0);
  ::mq_close(kept);
}

// As a job may leave it: no descent reaches its end, no path names it, and everything is closed.
TEST_F(ResidueTest, RemovesTreesThatAreDeepWideAndClosed) {
  namespace fs = std::filesystem;
  const testing::Directory directory;
  const std::string root = directory.path();
  const std::string outside = root + "/outside";
  testing::write_text(outside, "x");
  ASSERT_EQ(::chmod(root.c_str(), 01777), 0);
  as_account([&] {
    if (::chdir(root.c_str()) != 0 || ::mkdir("deep", 0700) != 0 || ::chdir("deep") != 0) return false;
    for (int depth = 0; depth < 1'500; ++depth) {
      for (const char* name : {".up-0", ".up-1", "d"})
        if (::mkdir(name, 0700) != 0) return false;
      if (::symlink(outside.c_str(), "link") != 0 || ::mkfifo("fifo", 0000) != 0 || ::chdir("d") != 0)
        return false;
    }
    if (::chdir((root + "/deep").c_str()) != 0 || ::mkdir("wide", 0700) != 0) return false;
    for (int at = 0; at < 3'000; ++at) {
      if (::mkdir(("wide/" + std::to_string(at)).c_str(), 0000) != 0) return false;
    }
    return ::chmod("wide", 0000) == 0 && ::chmod(".", 0000) == 0;
  });
  remove_files(call_.view(), uid, {root});
  EXPECT_TRUE(fs::exists(outside));
  EXPECT_EQ(std::distance(fs::directory_iterator(root), fs::directory_iterator()), 1);
}

// The whole life of an attempt with real processes.
TEST_F(ResidueTest, AnAttemptLeavesNothingBehind) {
  namespace fs = std::filesystem;
  const testing::Directory directory;
  const std::string runtime = directory.path() + "/runtime";
  fs::create_directories(runtime + "/bin");
  testing::write_text(runtime + "/bin/Runner.Listener",
                      "#!/bin/sh\n[ \"$1\" = run ] || exit 90\nid -u > id\nenv > env\n"
                      "echo left > /dev/shm/rmgr-test-$(id -u)\necho mine > \"$TMPDIR/file\"\nexit 7\n",
                      0755);
  ::chmod(runtime.c_str(), 0700);
  agent::process::Options options;
  options.shim = std::string(RMGR_BIN_DIR) + "/rmgr-shim";
  options.record_directory = directory.path() + "/records";
  auto processes = agent::process::ProcessHost::create(options, {});
  ASSERT_TRUE(processes.ok());
  testing::FakeHost host;
  host.use(**processes);
  Provider provider(host.view(), accounts_.pool(1));
  rmgr::Allocation one;
  one.host = "host-1";
  one.attempt = "11111111-2222-4333-8444-555555555555";
  one.generation = "0123456789abcdef0123456789abcdef";
  one.runtime = runtime;
  one.package = runtime;
  const auto id = provider.prepare(call_.view(), one);
  one.environment = *id;
  one.process = provider.hold(call_.view(), one);
  EXPECT_EQ(provider.inspect(call_.view(), one).status, rmgr::EnvironmentStatus::prepared);
  rmgr::StartResult result;
  provider.start(call_.view(), one, rmgr::SecretView(std::string_view("needle")), result);
  rmgr::EnvironmentState state;
  EXPECT_TRUE(testing::eventually([&] {
    state = provider.inspect(call_.view(), one);
    return state.status == rmgr::EnvironmentStatus::exited;
  }));
  EXPECT_EQ(state.exit_code, 7);
  EXPECT_FALSE(state.clean);
  EXPECT_EQ(testing::read_text(runtime + "/id"), name_ + "\n");
  EXPECT_NE(testing::read_text(runtime + "/env").find("ACTIONS_RUNNER_INPUT_JITCONFIG=needle\n"),
            std::string::npos);
  EXPECT_EQ(testing::read_text(runtime + "/_temp/file"), "mine\n");
  EXPECT_TRUE(fs::exists("/dev/shm/rmgr-test-" + name_));
  provider.remove(call_.view(), one);
  EXPECT_FALSE(fs::exists("/dev/shm/rmgr-test-" + name_));
  EXPECT_TRUE(host.kv.empty());
  EXPECT_TRUE(fs::is_empty(options.record_directory));
  EXPECT_EQ(count_processes(uid), 0U);
  provider.remove(call_.view(), one);
}

TEST_F(ResidueTest, AnAccountThatSomebodyUsesIsNotTaken) {
  const pid_t squatter = ::fork();
  if (squatter == 0) {
    if (::setuid(uid) != 0) ::_exit(1);
    for (;;)
      ::pause();
  }
  ASSERT_TRUE(testing::eventually([&] { return count_processes(uid) == 1; }));
  const testing::Directory directory;
  const std::string runtime = directory.path() + "/runtime";
  std::filesystem::create_directories(runtime + "/bin");
  testing::write_text(runtime + "/bin/Runner.Listener", "", 0755);
  testing::FakeHost host;
  Provider provider(host.view(), accounts_.pool(1));
  rmgr::Allocation one;
  one.attempt = "a";
  one.generation = "0123456789abcdef";
  one.runtime = runtime;
  one.package = runtime;
  EXPECT_EQ(testing::status_of([&] { provider.prepare(call_.view(), one); }), rmgr::Status::retry);
  EXPECT_TRUE(host.kv.empty());
  EXPECT_EQ(::kill(squatter, 0), 0);
  ::kill(squatter, SIGKILL);
  ::waitpid(squatter, nullptr, 0);
}

}  // namespace
}  // namespace native
