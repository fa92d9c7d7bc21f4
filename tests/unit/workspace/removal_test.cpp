#include "workspace/removal.hpp"

#include <dirent.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include <atomic>
#include <thread>

#include "unit/workspace/scratch.hpp"
#include "workspace/beneath.hpp"
#include "workspace/handle.hpp"

namespace {

using agent::domain::ErrorCode;
using agent::domain::Result;
using agent::workspace::Fd;
using agent::workspace::Removal;
using agent::workspace::RemovalOptions;
using agent::workspace::Resolve;

// Every rule holds for both ways to tell a mount.
class RemovalBy : public scratch::Workspace, public ::testing::WithParamInterface<Resolve> {
 protected:
  void SetUp() override {
    Workspace::SetUp();
    if (GetParam() == Resolve::kernel) {
      const Fd home(::open(home_.c_str(), O_RDONLY | O_DIRECTORY));
      if (!agent::workspace::Beneath::make(home.get(), Resolve::kernel)) GTEST_SKIP() << "no openat2 here";
    }
    runtime_ = directory("runtime");
    outside_ = directory("outside");
    file("outside/sentinel", "untouched");
  }
  [[nodiscard]] Result<Removal> remove(RemovalOptions options = {}) const {
    options.resolve = GetParam();
    const Fd home(::open(home_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return agent::workspace::remove_entry(home.get(), "runtime", options);
  }
  void expect_gone(const Result<Removal>& removal) const {
    ASSERT_TRUE(removal.ok()) << removal.error().message;
    EXPECT_TRUE(removal->complete);
    EXPECT_FALSE(exists(runtime_));
    EXPECT_EQ(content(outside_ + "/sentinel"), "untouched");
  }
  std::string runtime_, outside_;
};

TEST_P(RemovalBy, OfATreeCountsItsEntries) {
  directory("runtime/a");
  file("runtime/a/one");
  file("runtime/two");
  const auto removal = remove();
  expect_gone(removal);
  EXPECT_EQ(removal->entries, 4);
}

TEST_P(RemovalBy, OfNothingIsComplete) {
  ASSERT_EQ(::rmdir(runtime_.c_str()), 0);
  const auto removal = remove();
  expect_gone(removal);
  EXPECT_EQ(removal->entries, 0);
}

TEST_P(RemovalBy, OfALinkOrFileInItsPlaceTakesTheNameOnly) {
  ASSERT_EQ(::rmdir(runtime_.c_str()), 0);
  ASSERT_EQ(::symlink("outside", runtime_.c_str()), 0);
  expect_gone(remove());
  file("runtime");
  expect_gone(remove());
}

TEST_P(RemovalBy, UnlinksFifosAndSocketsWithoutOpening) {
  ASSERT_EQ(::mkfifo(at("runtime/clr-debug-pipe").c_str(), 0600), 0);
  const Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto path = at("runtime/s");
  ASSERT_LT(path.size(), sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  expect_gone(remove());
}

TEST_P(RemovalBy, UnlinksDeviceNodes) {
  if (::mknod(at("runtime/null").c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0) {
    GTEST_SKIP() << "this account cannot make device nodes";
  }
  ASSERT_EQ(::mknod(at("runtime/loop").c_str(), S_IFBLK | 0600, makedev(7, 200)), 0);
  expect_gone(remove());
}

TEST_P(RemovalBy, OpensReadOnlyAndClosedDirectoriesAsAnOrdinaryAccount) {
  directory("runtime/a");
  directory("runtime/a/b");
  file("runtime/a/b/c");
  directory("runtime/closed");
  file("runtime/closed/d");
  ASSERT_EQ(::chmod(at("runtime/a/b").c_str(), 0555), 0);
  ASSERT_EQ(::chmod(at("runtime/a").c_str(), 0500), 0);
  ASSERT_EQ(::chmod(at("runtime/closed").c_str(), 0), 0);
  ASSERT_EQ(::chmod(runtime_.c_str(), 0555), 0);
  give_to_stranger(home_);
  EXPECT_TRUE(as_stranger([&] {
    const auto removal = remove();
    return removal.ok() && removal->complete && !exists(runtime_);
  }));
  EXPECT_FALSE(exists(runtime_));
}

TEST_P(RemovalBy, OfADeepTreeHoldsFewDescriptors) {
  for (const bool read_only : {false, true}) {
    Fd here(::open(runtime_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (int depth = 0; depth < 2000; ++depth) {
      ASSERT_EQ(::mkdirat(here.get(), "deeper", 0755), 0);
      Fd next(::openat(here.get(), "deeper", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      ASSERT_TRUE(next);
      if (read_only) {
        ASSERT_EQ(::fchmod(here.get(), 0555), 0);
      }
      here = std::move(next);
    }
    ASSERT_EQ(::symlinkat(outside_.c_str(), here.get(), "link"), 0);
    here = Fd();
    give_to_stranger(home_);
    EXPECT_TRUE(as_stranger([&] {
      const rlimit few{40, 40};
      if (::setrlimit(RLIMIT_NOFILE, &few) != 0) return false;
      const auto removal = remove();
      return removal.ok() && removal->complete && removal->entries == 2002;
    }));
    EXPECT_FALSE(exists(runtime_));
    EXPECT_EQ(content(outside_ + "/sentinel"), "untouched");
    runtime_ = directory("runtime");
  }
}

TEST_P(RemovalBy, OfOddNames) {
  for (const std::string& name : {std::string("\xFF\xFE"), std::string("new\nline"), std::string("-rf"),
                                  std::string("pulled-0"), std::string(255, 'n'), std::string("...")}) {
    ASSERT_EQ(::mkdir(at("runtime/" + name).c_str(), 0755), 0);
    file("runtime/" + name + "/" + name);
  }
  expect_gone(remove());
}

TEST_P(RemovalBy, FollowsNoLink) {
  ASSERT_EQ(::symlink(outside_.c_str(), at("runtime/directory").c_str()), 0);
  ASSERT_EQ(::symlink((outside_ + "/sentinel").c_str(), at("runtime/file").c_str()), 0);
  ASSERT_EQ(::symlink("../outside", at("runtime/relative").c_str()), 0);
  ASSERT_EQ(::symlink("loop", at("runtime/loop").c_str()), 0);
  expect_gone(remove());
}

TEST_P(RemovalBy, OfAHardLinkTakesTheNameOnly) {
  ASSERT_EQ(::link((outside_ + "/sentinel").c_str(), at("runtime/alias").c_str()), 0);
  const auto mode = mode_of(outside_ + "/sentinel");
  expect_gone(remove());
  EXPECT_EQ(mode_of(outside_ + "/sentinel"), mode);
}

TEST_P(RemovalBy, OfFiveThousandFiles) {
  directory("runtime/many");
  for (int i = 0; i < 5000; ++i)
    file("runtime/many/" + std::to_string(i), "");
  const auto removal = remove();
  expect_gone(removal);
  EXPECT_EQ(removal->entries, 5002);
}

TEST_P(RemovalBy, CrossesNoMountedDirectory) {
  directory("runtime/a");
  const auto point = directory("runtime/a/mounted");
  file("runtime/b");
  ASSERT_EQ(::chmod(outside_.c_str(), 0555), 0);
  if (!mount("--bind", outside_, point)) GTEST_SKIP() << "this account cannot bind-mount";
  const auto removal = remove();
  ASSERT_FALSE(removal.ok());
  EXPECT_EQ(removal.error().code, ErrorCode::busy);
  EXPECT_NE(removal.error().message.find("mount"), std::string::npos);
  EXPECT_EQ(removal.error().message.find("mounted;"), std::string::npos);
  EXPECT_EQ(content(outside_ + "/sentinel"), "untouched");
  EXPECT_EQ(mode_of(outside_), 0555U);
  EXPECT_FALSE(exists(at("runtime/b")));  // the rest goes all the same
  unmount();
  expect_gone(remove());
}

TEST_P(RemovalBy, CrossesNoMountedFileAndNoMountOverTheRuntime) {
  const auto point = file("runtime/mounted");
  if (!mount("--bind", outside_ + "/sentinel", point)) GTEST_SKIP() << "this account cannot bind-mount";
  auto removal = remove();
  ASSERT_FALSE(removal.ok());
  EXPECT_EQ(removal.error().code, ErrorCode::busy);
  unmount();
  ASSERT_TRUE(mount("--bind", outside_, runtime_));
  removal = remove();
  ASSERT_FALSE(removal.ok());
  EXPECT_EQ(removal.error().code, ErrorCode::busy);
  EXPECT_EQ(content(outside_ + "/sentinel"), "untouched");
  unmount();
  expect_gone(remove());
}

TEST_P(RemovalBy, ADeepMountIsLeftWhole) {
  std::string point = "runtime";
  for (int depth = 0; depth < 60; ++depth) {
    point += "/d";
    directory(point);
  }
  if (!mount("--bind", outside_, at(point))) GTEST_SKIP() << "this account cannot bind-mount";
  const auto removal = remove();
  ASSERT_FALSE(removal.ok());
  EXPECT_EQ(removal.error().code, ErrorCode::busy);
  EXPECT_EQ(content(outside_ + "/sentinel"), "untouched");
  // The way to the mount was shortened, so it has another path now.
  EXPECT_EQ(std::system(
                ("umount \"$(awk '$5 ~ \"^" + runtime_ + "/\" {print $5}' /proc/self/mountinfo)\"").c_str()),
            0);
  forget_mount();
  expect_gone(remove());
}

TEST_P(RemovalBy, ClearsImmutableMarks) {
  directory("runtime/d");
  const auto path = file("runtime/d/fixed");
  for (const auto& marked : {path, at("runtime/d")}) {
    const Fd fd(::open(marked.c_str(), O_RDONLY | O_CLOEXEC));
    int flags = 0;
    if (::ioctl(fd.get(), FS_IOC_GETFLAGS, &flags) != 0) GTEST_SKIP() << "this filesystem has no marks";
    flags |= FS_IMMUTABLE_FL;
    if (::ioctl(fd.get(), FS_IOC_SETFLAGS, &flags) != 0) GTEST_SKIP() << "this account cannot set the mark";
  }
  ASSERT_NE(::unlink(path.c_str()), 0);
  expect_gone(remove());
}

TEST_P(RemovalBy, ASwappedDirectoryIsNeverFollowed) {
  for (int round = 0; round < 20; ++round) {
    if (!exists(runtime_)) directory("runtime");
    directory("runtime/flip");
    for (int i = 0; i < 50; ++i)
      file("runtime/flip/" + std::to_string(i), "");
    ASSERT_EQ(::symlink(outside_.c_str(), at("runtime/link").c_str()), 0);
    std::atomic<bool> stop{false};
    std::thread flipper([&] {
      const auto one = at("runtime/flip");
      const auto two = at("runtime/link");
      while (!stop)
        ::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, two.c_str(), RENAME_EXCHANGE);
    });
    const auto removal = remove();
    stop = true;
    flipper.join();
    EXPECT_TRUE(removal.ok()) << removal.error().message;
    EXPECT_EQ(content(outside_ + "/sentinel"), "untouched");
    expect_gone(remove());
  }
}

TEST_P(RemovalBy, EndsWhileOthersKeepWriting) {
  directory("runtime/busy");
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (std::uint64_t i = 0; !stop; ++i) {
      ::mkdir(runtime_.c_str(), 0755);
      ::mkdir(at("runtime/busy").c_str(), 0755);
      const int fd = ::open(at("runtime/busy/" + std::to_string(i % 64)).c_str(), O_WRONLY | O_CREAT, 0644);
      if (fd >= 0) ::close(fd);
    }
  });
  RemovalOptions options;
  options.passes = 3;
  for (int i = 0; i < 20; ++i) {
    const auto removal = remove(options);
    EXPECT_TRUE(removal.ok()) << removal.error().message;
  }
  stop = true;
  writer.join();
  expect_gone(remove());
}

TEST_P(RemovalBy, EndsAtItsTimeLimit) {
  for (int i = 0; i < 600; ++i)
    file("runtime/" + std::to_string(i), "");
  RemovalOptions options;
  options.limit = agent::domain::Millis{0};
  const auto removal = remove(options);
  ASSERT_TRUE(removal.ok());
  EXPECT_FALSE(removal->complete);
  expect_gone(remove());
}

TEST_P(RemovalBy, SaysWhatThisAccountMayNot) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make files of another account";
  directory("runtime/foreign", 0755);
  file("runtime/foreign/secret-name");
  ASSERT_EQ(::chmod(home_.c_str(), 0755), 0);
  EXPECT_TRUE(as_stranger([&] {
    const auto removal = remove();
    return !removal.ok() && removal.error().code == ErrorCode::denied &&
           removal.error().message.find("secret-name") == std::string::npos &&
           removal.error().message.find("foreign") == std::string::npos;
  }));
  expect_gone(remove());
}

INSTANTIATE_TEST_SUITE_P(EitherWay, RemovalBy, ::testing::Values(Resolve::kernel, Resolve::portable),
                         [](const auto& param) {
                           return param.param == Resolve::kernel ? "kernel" : "portable";
                         });

class RuntimeRemoval : public scratch::Workspace {};

TEST_F(RuntimeRemoval, NamesOneEntryOfARealRoot) {
  directory("root");
  directory("root/a");
  for (const std::string& name : std::vector<std::string>{"", ".", "..", "a/b", "../root"}) {
    const auto removal = agent::workspace::remove_runtime(at("root"), name);
    ASSERT_FALSE(removal.ok()) << name;
    EXPECT_EQ(removal.error().code, ErrorCode::invalid);
  }
  ASSERT_EQ(::symlink("root", at("link").c_str()), 0);
  EXPECT_FALSE(agent::workspace::remove_runtime(at("link"), "a").ok());
  EXPECT_TRUE(exists(at("root/a")));
  const auto removal = agent::workspace::remove_runtime(at("root"), "a");
  ASSERT_TRUE(removal.ok());
  EXPECT_TRUE(removal->complete);
  EXPECT_TRUE(agent::workspace::remove_runtime(at("gone"), "a")->complete);
}

TEST(MountId, IsKnownHere) { EXPECT_TRUE(agent::workspace::mount_id(0).has_value()); }

}  // namespace
