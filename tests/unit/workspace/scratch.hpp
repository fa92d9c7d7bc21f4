// A temporary directory per test, and small ways to fill it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "workspace/removal.hpp"

namespace scratch {

inline constexpr uid_t kStranger = 65534;

class Workspace : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path = "/tmp/rmgr-workspace-XXXXXX";
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    home_ = path;
  }
  void TearDown() override {
    for (auto mount = mounts_.rbegin(); mount != mounts_.rend(); ++mount) {
      EXPECT_EQ(std::system(("umount '" + *mount + "'").c_str()), 0);
    }
    const auto left = agent::workspace::remove_entry(temporary_directory(), home_.substr(5));
    EXPECT_TRUE(left.ok() && left->complete);
  }

  [[nodiscard]] std::string at(const std::string& name) const { return home_ + "/" + name; }
  std::string directory(const std::string& name, mode_t mode = 0755) const {
    EXPECT_EQ(::mkdir(at(name).c_str(), 0755), 0) << name;
    EXPECT_EQ(::chmod(at(name).c_str(), mode), 0);
    return at(name);
  }
  std::string file(const std::string& name, const std::string& text = "x") const {
    std::ofstream(at(name), std::ios::binary) << text;
    return at(name);
  }
  static std::string content(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static bool exists(const std::string& path) {
    struct stat info {};
    return ::lstat(path.c_str(), &info) == 0;
  }
  static unsigned mode_of(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(::lstat(path.c_str(), &info), 0);
    return info.st_mode & 07777U;
  }
  // Mounts, to be undone at the end. False where this account may not.
  bool mount(const std::string& options, const std::string& source, const std::string& target) {
    const auto command = "mount " + options + " '" + source + "' '" + target + "' 2>/dev/null";
    if (std::system(command.c_str()) != 0) return false;
    mounts_.push_back(target);
    return true;
  }
  void note_mount(const std::string& target) { mounts_.push_back(target); }
  void forget_mount() { mounts_.pop_back(); }
  void unmount() {
    EXPECT_EQ(std::system(("umount '" + mounts_.back() + "'").c_str()), 0);
    mounts_.pop_back();
  }
  // Runs `body` in a child under an account without privileges (the own one if that is such); true if it was.
  static bool as_stranger(const std::function<bool()>& body) { return in_child(body, ::geteuid() == 0); }
  static bool in_child(const std::function<bool()>& body, bool give_up_rights = false) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (give_up_rights) {
        if (::setresgid(kStranger, kStranger, kStranger) != 0 ||
            ::setresuid(kStranger, kStranger, kStranger) != 0)
          ::_exit(3);
        ::prctl(PR_SET_DUMPABLE, 1);  // as a daemon that was started under this account
      }
      ::_exit(body() ? 0 : 1);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  void give_to_stranger(const std::string& path) const {
    if (::geteuid() == 0) {
      ASSERT_EQ(std::system(("chown -hR 65534:65534 '" + path + "'").c_str()), 0);
    }
  }

  std::string home_;

 private:
  static int temporary_directory() {
    static const int fd = ::open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd;
  }
  std::vector<std::string> mounts_;
};

}  // namespace scratch
