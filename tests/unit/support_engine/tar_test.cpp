#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "support/engine/tar.hpp"
#include "support/temporary.hpp"
#include "unit/plugin_github/fakes.hpp"

namespace plugins::engine {
namespace {

namespace fs = std::filesystem;
using plugin_test::error_of;
using plugin_test::FakeCall;

std::string tar_of(const std::string& directory, const TarOptions& options) {
  FakeCall call;
  std::string all;
  write_tar(call.call(), directory, options, [&](std::string_view piece) { all += piece; });
  return all;
}

std::string output_of(const std::string& command) {
  std::string out;
  FILE* const pipe = ::popen(command.c_str(), "r");
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe))
    out.append(buffer.data(), count);
  EXPECT_EQ(::pclose(pipe), 0) << command;
  return out;
}

// GNU tar is the judge.
TEST(EngineTar, IsReadByOthersAsItIs) {
  testkit::TemporaryDirectory from;
  testkit::TemporaryDirectory to;
  const std::string root = from.path() + "/package";
  const std::string deep = root + "/externals/" + std::string(120, 'd') + "/x";
  fs::create_directories(deep);
  fs::create_directories(root + "/bin");
  std::ofstream(root + "/bin/Runner.Listener") << std::string(1000, 'l');
  ::chmod((root + "/bin/Runner.Listener").c_str(), 0755);
  std::ofstream(root + "/empty");
  std::ofstream(root + "/block") << std::string(512, 'b');
  std::ofstream(deep + "/" + std::string(90, 'f')) << "deep";
  fs::create_symlink("../bin/Runner.Listener", root + "/link");
  fs::create_symlink(std::string(150, 't'), root + "/dangling");
  ASSERT_EQ(tar_of(root, {}).size() % 512, 0U);
  std::ofstream(to.path() + "/a.tar", std::ios::binary) << tar_of(root, {"opt/runner", 1001, 1002});
  fs::create_directories(to.path() + "/out");
  EXPECT_EQ(output_of("tar --numeric-owner -tvf " + to.path() + "/a.tar | awk '{print $2}' | sort -u"),
            "1001/1002\n");
  output_of("tar --no-same-owner -C " + to.path() + "/out -xf " + to.path() + "/a.tar");
  EXPECT_EQ(output_of("diff -r --no-dereference " + root + " " + to.path() + "/out/opt/runner"), "");
  struct stat info {};
  ASSERT_EQ(::stat((to.path() + "/out/opt/runner/bin/Runner.Listener").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0755U);
}

TEST(EngineTar, RefusesWhatIsNoPackage) {
  testkit::TemporaryDirectory directory;
  const auto status = [&] { return error_of([&] { tar_of(directory.path(), {}); }).status(); };
  EXPECT_EQ(error_of([&] { tar_of(directory.path() + "/none", {}); }).status(), rmgr::Status::invalid);
  ASSERT_EQ(::mkfifo((directory.path() + "/fifo").c_str(), 0600), 0);
  EXPECT_EQ(status(), rmgr::Status::invalid);
  fs::remove(directory.path() + "/fifo");
  EXPECT_EQ(status(), rmgr::Status::ok);
}

TEST(EngineTar, EndsWhenItIsCancelled) {
  testkit::TemporaryDirectory directory;
  std::ofstream(directory.path() + "/file") << "x";
  FakeCall call;
  call.cancel();
  const auto error = error_of([&] { write_tar(call.call(), directory.path(), {}, [](std::string_view) {}); });
  EXPECT_EQ(error.status(), rmgr::Status::cancelled);
}

}  // namespace
}  // namespace plugins::engine
