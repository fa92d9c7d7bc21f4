#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "native/provider.hpp"
#include "native/runtime.hpp"
#include "support/accounts.hpp"
#include "unit/plugin_native/fakes.hpp"

namespace native {
namespace {

namespace fs = std::filesystem;
using rmgr::EnvironmentStatus;
using rmgr::Readiness;
using rmgr::Status;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::status_of;

constexpr const char* generation = "0123456789abcdef0123456789abcdef";

struct stat look(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(::lstat(path.c_str(), &info), 0) << path;
  return info;
}

class ProviderTest : public ::testing::Test {
 protected:
  // A runtime that holds a package.
  rmgr::Allocation allocation(const std::string& attempt) {
    auto& names =
        names_.emplace_back(std::make_unique<Names>(Names{attempt, directory_.path() + '/' + attempt, ""}));
    if (!fs::exists(names->runtime)) {
      fs::create_directories(names->runtime + "/bin");
      testing::write_text(names->runtime + "/bin/Runner.Listener", "#!/bin/sh\n. ./job\n", 0755);
      testing::write_text(names->runtime + "/run.sh", "x");
      ::chmod(names->runtime.c_str(), 0700);
    }
    rmgr::Allocation made;
    made.host = "host-1";
    made.attempt = names->attempt;
    made.generation = generation;
    made.runtime = names->runtime;
    made.package = names->runtime;
    return made;
  }

  static void require_root() {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can give a runtime to another account";
  }

  struct Names {
    std::string attempt, runtime, environment;
  };
  std::vector<std::unique_ptr<Names>> names_;
  testing::Directory directory_;
  testing::FakeHost host_;
  testing::Call call_;
  const testkit::AccountRange accounts_;
  const std::string range_ = accounts_.pool(2);
  // What an environment of the pool's account `index` is called.
  [[nodiscard]] std::string environment(std::uint32_t index) const {
    return "native:" + std::to_string(accounts_.first() + index) + ":01234567";
  }
  const std::string shared_ = R"({"allow_shared_account": true})";
};

TEST_F(ProviderTest, ProbeSaysWhatIsNotOfferedAndWhatIsExposed) {
  Provider provider(host_.view(), shared_);
  const auto ready = provider.probe(call_.view(), {});
  EXPECT_EQ(ready.readiness, Readiness::ready);
  EXPECT_THAT(ready.note, HasSubstr("jobs can read this agent's credentials"));
  rmgr::Profile profile;
  profile.image = "ubuntu";
  EXPECT_EQ(provider.probe(call_.view(), profile).readiness, Readiness::image_unavailable);
  profile = {};
  profile.disk_bytes = 1;
  EXPECT_EQ(provider.probe(call_.view(), profile).readiness, Readiness::disk_quota_unavailable);
  profile = {};
  profile.memory_bytes = 1;
  EXPECT_EQ(provider.probe(call_.view(), profile).readiness, Readiness::unsupported);

  const std::string file = directory_.path() + "/runner.env";
  testing::write_text(file, "broken\n", 0600);
  Provider with_file(host_.view(), R"({"allow_shared_account": true, "runner_env": ")" + file + "\"}");
  const auto broken = with_file.probe(call_.view(), {});
  EXPECT_EQ(broken.readiness, Readiness::degraded);
  EXPECT_THAT(broken.remedy, HasSubstr("runner.env:1:"));
  EXPECT_EQ(status_of([&] { with_file.prepare(call_.view(), allocation("a")); }), Status::invalid);
}

TEST_F(ProviderTest, AHookThatFailedIsShownAndOneThatCannotBeTrustedStopsLaunches) {
  const std::string hook = directory_.path() + "/hook";
  testing::write_text(hook, "#!/bin/sh\n", 0755);
  Provider provider(host_.view(),
                    R"({"allow_shared_account": true, "hooks": {"before": {"command": [")" + hook + "\"]}}}");
  host_.state.state = RMGR_PROCESS_EXITED;
  host_.state.exit_code = 3;
  const rmgr::Allocation one = allocation("a");
  EXPECT_EQ(status_of([&] { provider.prepare(call_.view(), one); }), Status::retry);
  EXPECT_FALSE(fs::exists(std::string(one.runtime) + "/_home"));
  EXPECT_THAT(provider.probe(call_.view(), {}).note, HasSubstr("ended with 3"));
  ::chmod(hook.c_str(), 0757);
  const auto refused = provider.probe(call_.view(), {});
  EXPECT_EQ(refused.readiness, Readiness::degraded);
  EXPECT_THAT(refused.remedy, HasSubstr("can be changed by others"));
  EXPECT_EQ(status_of([&] { provider.prepare(call_.view(), one); }), Status::invalid);
}

TEST_F(ProviderTest, ASharedAccountHoldsAsTheAgentItself) {
  Provider provider(host_.view(), shared_);
  rmgr::Allocation one = allocation("a");
  EXPECT_EQ(provider.inspect(call_.view(), one).status, EnvironmentStatus::missing);
  const auto id = provider.prepare(call_.view(), one);
  ASSERT_TRUE(id);
  EXPECT_EQ(*id, "native:" + std::to_string(::geteuid()) + ":01234567");
  EXPECT_TRUE(provider.owns(call_.view(), one, *id));
  EXPECT_FALSE(provider.owns(call_.view(), one, "native:1:01234567"));
  EXPECT_EQ(provider.inspect(call_.view(), one).status, EnvironmentStatus::prepared);
  EXPECT_EQ(look(std::string(one.runtime) + "/_home").st_mode & 07777U, 0700U);
  EXPECT_EQ(look(std::string(one.runtime) + "/_temp").st_mode & 07777U, 0700U);
  EXPECT_TRUE(host_.kv.empty());

  one.process = provider.hold(call_.view(), one);
  ASSERT_EQ(host_.spawned.size(), 1U);
  const auto& spawned = host_.spawned[0];
  EXPECT_EQ(spawned.key, "a");
  EXPECT_EQ(spawned.directory, one.runtime);
  EXPECT_THAT(spawned.argv, ElementsAre(std::string(one.package) + "/bin/Runner.Listener", "run"));
  EXPECT_EQ(spawned.uid, -1);
  EXPECT_EQ(spawned.gid, -1);
  EXPECT_THAT(spawned.environment, ::testing::Contains("HOME=" + std::string(one.runtime) + "/_home"));
  for (const std::string& entry : spawned.environment)
    EXPECT_THAT(entry, ::testing::Not(HasSubstr("JITCONFIG")));

  rmgr::StartResult result;
  provider.start(call_.view(), one, rmgr::SecretView(std::string_view("needle")), result);
  EXPECT_EQ(host_.asked.back(), "release a ACTIONS_RUNNER_INPUT_JITCONFIG");
  EXPECT_EQ(host_.secret, "needle");
}

TEST_F(ProviderTest, ADamagedPackageIsRefusedBeforeAnythingIsAssigned) {
  require_root();
  Provider provider(host_.view(), range_);
  const rmgr::Allocation one = allocation("a");
  const std::string listener = std::string(one.package) + "/bin/Runner.Listener";
  ::chmod(listener.c_str(), 0644);
  EXPECT_EQ(status_of([&] { provider.prepare(call_.view(), one); }), Status::invalid);
  fs::remove(listener);
  EXPECT_EQ(status_of([&] { provider.prepare(call_.view(), one); }), Status::invalid);
  fs::create_symlink("/bin/sh", listener);
  EXPECT_EQ(status_of([&] { provider.prepare(call_.view(), one); }), Status::invalid);
  EXPECT_TRUE(host_.kv.empty());
}

TEST_F(ProviderTest, EachAttemptHasAnAccountOfItsOwnAcrossRestarts) {
  require_root();
  rmgr::Allocation a = allocation("a");
  rmgr::Allocation b = allocation("b");
  rmgr::Allocation c = allocation("c");
  std::string first;
  {
    Provider provider(host_.view(), range_);
    first = *provider.prepare(call_.view(), a);
    EXPECT_EQ(first, environment(0));
    EXPECT_EQ(*provider.prepare(call_.view(), a), first);  // asked again
  }
  Provider provider(host_.view(), range_);
  EXPECT_EQ(*provider.prepare(call_.view(), a), first);
  EXPECT_EQ(*provider.prepare(call_.view(), b), environment(1));
  EXPECT_EQ(provider.probe(call_.view(), {}).readiness, Readiness::degraded);
  EXPECT_EQ(status_of([&] { provider.prepare(call_.view(), c); }), Status::retry);
  EXPECT_EQ(provider.enumerate_owned(call_.view(), "host-1").size(), 2U);
  EXPECT_TRUE(provider.enumerate_owned(call_.view(), "host-2").empty());
  ASSERT_EQ(provider.recover(call_.view(), a).size(), 1U);
  EXPECT_EQ(provider.recover(call_.view(), a)[0].environment, first);
  EXPECT_TRUE(provider.recover(call_.view(), c).empty());
  EXPECT_TRUE(provider.owns(call_.view(), a, first));
  EXPECT_FALSE(provider.owns(call_.view(), b, first));

  provider.remove(call_.view(), a);
  EXPECT_EQ(host_.asked.back(), "forget a");
  provider.remove(call_.view(), a);
  EXPECT_EQ(provider.inspect(call_.view(), a).status, EnvironmentStatus::missing);
  EXPECT_EQ(*provider.prepare(call_.view(), c), environment(0));
}

TEST_F(ProviderTest, AnAccountIsDurableBeforeItIsUsed) {
  require_root();
  Provider provider(host_.view(), range_);
  host_.refuse_put = RMGR_E_RETRY;
  const rmgr::Allocation one = allocation("a");
  EXPECT_EQ(status_of([&] { provider.prepare(call_.view(), one); }), Status::retry);
  EXPECT_EQ(look(std::string(one.runtime)).st_uid, ::geteuid());
  EXPECT_FALSE(fs::exists(std::string(one.runtime) + "/_home"));
}

TEST_F(ProviderTest, TheRuntimeIsGivenWithoutFollowingAnything) {
  require_root();
  const rmgr::Allocation one = allocation("a");
  const std::string runtime(one.runtime);
  const std::string outside = directory_.path() + "/outside";
  testing::write_text(outside, "mine");
  fs::create_symlink(outside, runtime + "/link");
  fs::create_directory_symlink(directory_.path(), runtime + "/bin/up");
  fs::create_hard_link(outside, runtime + "/second-name");
  ASSERT_EQ(::mkfifo((runtime + "/fifo").c_str(), 0600), 0);
  fs::create_symlink(outside, runtime + "/_home");  // left by an earlier job
  Provider provider(host_.view(), range_);
  provider.prepare(call_.view(), one);
  for (const char* entry :
       {"", "/bin", "/bin/Runner.Listener", "/run.sh", "/link", "/bin/up", "/fifo", "/_home", "/_temp"}) {
    EXPECT_EQ(look(runtime + entry).st_uid, accounts_.first()) << entry;
    EXPECT_EQ(look(runtime + entry).st_gid, accounts_.first()) << entry;
  }
  EXPECT_TRUE(S_ISDIR(look(runtime + "/_home").st_mode));
  EXPECT_EQ(look(outside).st_uid, 0U);
  EXPECT_EQ(look(directory_.path()).st_uid, 0U);
}

TEST_F(ProviderTest, AWayThatTheAccountCannotGoIsRefused) {
  require_root();
  const rmgr::Allocation one = allocation("a");
  ::chmod(directory_.path().c_str(), 0700);
  Provider provider(host_.view(), range_);
  std::string message;
  EXPECT_EQ(status_of([&] { provider.prepare(call_.view(), one); }, &message), Status::invalid);
  EXPECT_THAT(message, HasSubstr("cannot pass through " + directory_.path()));
}

TEST_F(ProviderTest, StartTellsWhetherSomethingMayHaveRun) {
  Provider provider(host_.view(), shared_);
  rmgr::Allocation one = allocation("a");
  provider.prepare(call_.view(), one);
  const rmgr::SecretView secret(std::string_view("needle"));
  rmgr::StartResult unheld;
  EXPECT_EQ(status_of([&] { provider.start(call_.view(), one, secret, unheld); }), Status::invalid);
  EXPECT_FALSE(unheld.process_existed);

  one.process = provider.hold(call_.view(), one);
  struct Case {
    rmgr_status release, stop;
    bool existed;
    std::int64_t live;
  };
  for (const Case& each :
       {Case{RMGR_E_INVALID, RMGR_OK, false, 0}, Case{RMGR_E_NOT_FOUND, RMGR_OK, false, 0},
        Case{RMGR_E_DEADLINE, RMGR_OK, true, 0}, Case{RMGR_E_BAD_RESPONSE, RMGR_E_BUSY, true, 4711}}) {
    host_.release_answer = each.release;
    host_.stop_answer = each.stop;
    rmgr::StartResult result;
    EXPECT_EQ(status_of([&] { provider.start(call_.view(), one, secret, result); }),
              static_cast<Status>(each.release));
    EXPECT_EQ(result.process_existed, each.existed);
    EXPECT_EQ(result.live_pid, each.live);
  }
}

TEST_F(ProviderTest, OnlyAnExitOfZeroIsClean) {
  Provider provider(host_.view(), shared_);
  rmgr::Allocation one = allocation("a");
  one.process = rmgr::ProcessIdentity{4711, 7, "boot"};
  struct Case {
    std::int32_t code, signal, expected;
    bool clean;
  };
  for (const Case& each :
       {Case{0, 0, 0, true}, Case{3, 0, 3, false}, Case{0, 9, -1, false}, Case{-1, 0, -1, false}}) {
    host_.state.state = RMGR_PROCESS_EXITED;
    host_.state.exit_code = each.code;
    host_.state.signal = each.signal;
    const auto state = provider.inspect(call_.view(), one);
    EXPECT_EQ(state.status, EnvironmentStatus::exited);
    EXPECT_EQ(state.exit_code, each.expected);
    EXPECT_EQ(state.clean, each.clean);
  }
  host_.state.state = RMGR_PROCESS_RUNNING;
  EXPECT_EQ(provider.inspect(call_.view(), one).status, EnvironmentStatus::running);
  host_.state.state = RMGR_PROCESS_PREPARED;
  EXPECT_EQ(provider.inspect(call_.view(), one).status, EnvironmentStatus::prepared);
  host_.state.state = RMGR_PROCESS_MISSING;
  EXPECT_EQ(provider.inspect(call_.view(), one).status, EnvironmentStatus::missing);
}

TEST_F(ProviderTest, RemoveIsDeferredWhileSomethingRuns) {
  require_root();
  Provider provider(host_.view(), range_);
  rmgr::Allocation one = allocation("a");
  provider.prepare(call_.view(), one);
  one.process = rmgr::ProcessIdentity{4711, 7, "boot"};
  host_.stop_answer = RMGR_E_BUSY;
  EXPECT_EQ(status_of([&] { provider.remove(call_.view(), one); }), Status::retry);
  EXPECT_EQ(host_.asked.back(), "stop a 0");
  EXPECT_EQ(host_.kv.size(), 1U);
  host_.stop_answer = RMGR_OK;
  provider.remove(call_.view(), one);
  EXPECT_TRUE(host_.kv.empty());
}

}  // namespace
}  // namespace native
