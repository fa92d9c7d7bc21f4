// The provider against a Windows engine that plays one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "hyperv/provider.hpp"
#include "support/windows_engine.hpp"
#include "unit/plugin_github/fakes.hpp"

namespace hyperv {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using plugin_test::error_of;
using plugin_test::FakeCall;
using plugin_test::FakeHost;
using rmgr::EnvironmentStatus;
using rmgr::Readiness;
using rmgr::Status;
using scripted::Asked;
using scripted::Line;
using scripted::raw;
using scripted::reply;
using scripted::WindowsEngine;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// The listener of the package: a shell script, which runs natively.
constexpr const char* listener = R"(#!/bin/sh
case $1 in
  --version) exit ${PREFLIGHT:-0} ;;
  run) mkdir -p "$HOME/runner/_diag"; : >"$HOME/runner/_diag/Runner_1.log"
       printf %s "$ACTIONS_RUNNER_INPUT_JITCONFIG" >"$SEEN"; exec ${THEN:-true} ;;
esac
)";

class HypervProvider : public ::testing::Test {
 protected:
  HypervProvider() {
    fs::create_directories(package_ + "/bin");
    std::ofstream(package_ + "/bin/Runner.Listener.exe") << listener;
    fs::permissions(package_ + "/bin/Runner.Listener.exe", fs::perms::owner_all);
    std::ofstream(bootstrap_) << "bootstrap";
    allocation_.host = "host-1";
    allocation_.attempt = "11111111-2222-4333-8444-555555555555";
    allocation_.generation = "0123abcd0123abcd0123abcd0123abcd";
    allocation_.image = WindowsEngine::image();
    allocation_.policy = "web";
    allocation_.package = package_;
    allocation_.runtime = package_;
  }

  Provider provider(const json& more = json::object(), const Features& features = {}) {
    json config = {
        {"host", engine_.address()}, {"bootstrap", bootstrap_}, {"environment", {"SEEN=" + seen_}}};
    config.update(more);
    return Provider(host_.host(), config.dump(), [features] { return features; });
  }
  const std::string& prepared(Provider& making) {
    environment_ = making.prepare(call_.call(), allocation_).value_or("");
    return environment_;
  }
  rmgr::Error preparing(const json& more = json::object()) {
    Provider making = provider(more);
    return error_of([&] { prepared(making); });
  }
  rmgr::StartResult started(Provider& starting, const std::string& secret, rmgr::Error* failure = nullptr) {
    rmgr::StartResult result;
    const auto error = error_of([&] {
      starting.start(call_.call(), allocation_, rmgr::SecretView(std::string_view(secret)), result);
    });
    if (failure != nullptr)
      *failure = error;
    else
      EXPECT_EQ(error.status(), Status::ok) << error.what();
    return result;
  }
  rmgr::EnvironmentState exited(Provider& looking) {
    rmgr::EnvironmentState state;
    for (int i = 0; i < 600; ++i) {
      state = looking.inspect(call_.call(), allocation_);
      if (state.status == EnvironmentStatus::exited) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return state;
  }
  std::vector<json> created() {
    std::vector<json> all;
    for (const Asked& one : engine_.engine().asked()) {
      if (one.line.starts_with("POST /containers/create")) all.push_back(json::parse(one.body));
    }
    return all;
  }

  testkit::TemporaryDirectory directory_;
  const std::string package_ = directory_ / "package";
  const std::string bootstrap_ = directory_ / "rmgr-bootstrap.exe";
  const std::string seen_ = directory_ / "seen";
  const std::string name_ = "rm-11111111-2222-4333-8444-555555555555-0123abcd";
  std::string environment_;
  WindowsEngine engine_;
  FakeHost host_;
  FakeCall call_;
  rmgr::Allocation allocation_;
};

std::string id(int number) {
  const std::string text = std::to_string(number);
  return std::string(64 - text.size(), '0') + text;
}
std::string on(int number, const std::string& verb, const std::string& what) {
  return verb + " /containers/" + id(number) + what;
}

TEST_F(HypervProvider, TriesTheRunnerBeforeItMakesItsContainer) {
  Provider making = provider();
  EXPECT_EQ(prepared(making), "hyperv:" + id(2));
  EXPECT_THAT(engine_.changes(),
              ElementsAre("POST /containers/create", on(1, "PUT", "/archive"), on(1, "POST", "/start"),
                          on(1, "POST", "/wait"), on(1, "DELETE", ""), "POST /containers/create",
                          on(2, "PUT", "/archive")));
  EXPECT_EQ(engine_.containers(), 1U);
  EXPECT_EQ(making.inspect(call_.call(), allocation_).status, EnvironmentStatus::prepared);
}

TEST_F(HypervProvider, AsksForIsolationNetworkPlatformLimitsAndLabels) {
  allocation_.profile.cpu_milli = 2000;
  allocation_.profile.memory_bytes = std::int64_t{4} << 30;
  allocation_.profile.disk_bytes = std::int64_t{40} << 30;
  Provider making = provider();
  prepared(making);
  ASSERT_EQ(created().size(), 2U);
  for (const json& one : created()) {
    EXPECT_EQ(one["HostConfig"]["Isolation"], "hyperv");
    EXPECT_EQ(one["HostConfig"]["NetworkMode"], "nat");
    EXPECT_EQ(one["HostConfig"]["NanoCpus"], 2'000'000'000);
    EXPECT_EQ(one["HostConfig"]["Memory"], std::int64_t{4} << 30);
    EXPECT_EQ(one["HostConfig"]["StorageOpt"]["size"], "42949672960");
    EXPECT_EQ(one["HostConfig"]["RestartPolicy"]["Name"], "no");
    EXPECT_EQ(one["HostConfig"]["LogConfig"]["Type"], "none");
    EXPECT_EQ(one["Labels"]["runner-manager.host"], "host-1");
    EXPECT_EQ(one["Labels"]["runner-manager.attempt"], allocation_.attempt);
    EXPECT_EQ(one["Labels"]["runner-manager.generation"], allocation_.generation);
    EXPECT_EQ(one["Labels"]["runner-manager.image"], WindowsEngine::image());
    EXPECT_EQ(one["Labels"]["runner-manager.policy"], "web");
    EXPECT_TRUE(one["OpenStdin"].get<bool>() && one["StdinOnce"].get<bool>());
    EXPECT_FALSE(one["Tty"].get<bool>());
    for (const char* each : {"Binds", "Mounts", "CapDrop", "PidsLimit", "Init", "Privileged"})
      EXPECT_FALSE(one["HostConfig"].contains(each)) << each;
  }
  EXPECT_EQ(created()[0]["Labels"]["runner-manager.purpose"], "preflight");
  EXPECT_FALSE(created()[1]["Labels"].contains("runner-manager.purpose"));
  EXPECT_THAT(engine_.engine().lines(),
              Contains("POST /containers/create?name=" + name_ + "&platform=windows%2Famd64").Times(2));
  EXPECT_THAT(engine_.engine().lines(), Contains(on(2, "PUT", "/archive?path=C%3A%5C")));
}

TEST_F(HypervProvider, RunsALifeFromPrepareToRemove) {
  Provider living = provider();
  allocation_.environment = prepared(living);
  // Several times what cmd.exe reads as one line.
  const std::string secret = "needle-" + std::string(9000, 'j');
  EXPECT_TRUE(started(living, secret).process_existed);
  const auto state = exited(living);
  EXPECT_EQ(state.status, EnvironmentStatus::exited);
  EXPECT_TRUE(state.clean);
  std::ifstream seen(seen_);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(seen), {}), secret);
  for (const Asked& one : engine_.engine().asked()) {
    EXPECT_THAT(one.head, Not(HasSubstr("needle")));
    EXPECT_THAT(one.body, Not(HasSubstr("needle")));
  }
  EXPECT_THAT(living.diagnostics(call_.call(), allocation_),
              ElementsAre("engine hyperv", "container exited 0", "no job"));
  EXPECT_EQ(living.recover(call_.call(), allocation_).size(), 1U);
  EXPECT_TRUE(living.owns(call_.call(), allocation_, allocation_.environment));
  living.remove(call_.call(), allocation_);
  living.remove(call_.call(), allocation_);
  EXPECT_EQ(engine_.containers(), 0U);
  EXPECT_THAT(living.enumerate_owned(call_.call(), "host-1"), IsEmpty());
}

TEST_F(HypervProvider, AttachesBeforeItStartsAndOnlyThenHandsOver) {
  Provider living = provider();
  allocation_.environment = prepared(living);
  const std::size_t before = engine_.changes().size();
  started(living, "needle-1");
  auto changes = engine_.changes();
  changes.erase(changes.begin(), changes.begin() + static_cast<std::ptrdiff_t>(before));
  EXPECT_THAT(changes, ElementsAre(on(2, "POST", "/attach"), on(2, "POST", "/start")));
}

TEST_F(HypervProvider, StopsWhatRunsAndShowsNoFilesOfIt) {
  Provider living = provider({{"environment", {"SEEN=" + seen_, "THEN=sleep 60"}}});
  allocation_.environment = prepared(living);
  started(living, "needle-1");
  EXPECT_EQ(living.inspect(call_.call(), allocation_).status, EnvironmentStatus::running);
  EXPECT_THAT(living.diagnostics(call_.call(), allocation_),
              ElementsAre("engine hyperv", "container running"));
  living.stop(call_.call(), allocation_, rmgr::Millis{5000});
  const auto state = living.inspect(call_.call(), allocation_);
  EXPECT_EQ(state.status, EnvironmentStatus::exited);
  EXPECT_FALSE(state.clean);
  EXPECT_EQ(state.exit_code, -1);
  rmgr::Error failure{Status::ok, ""};
  EXPECT_TRUE(started(living, "needle-2", &failure).process_existed);
  EXPECT_EQ(failure.status(), Status::busy);
}

TEST_F(HypervProvider, ARunnerThatDoesNotStartInTheImageCostsNoRegistration) {
  const auto error = preparing({{"environment", {"PREFLIGHT=53"}}});
  EXPECT_EQ(error.status(), Status::invalid);
  EXPECT_THAT(error.what(), HasSubstr("exit code 53"));
  EXPECT_EQ(engine_.containers(), 0U);
  EXPECT_EQ(created().size(), 1U) << "there is no container for a runner that cannot start";
  fs::permissions(package_ + "/bin/Runner.Listener.exe", fs::perms::owner_read);
  EXPECT_THAT(preparing().what(), HasSubstr("0xc0000135"));
  EXPECT_EQ(engine_.containers(), 0U);
}

TEST_F(HypervProvider, FindsItsOwnAgainAndTriesNothingTwice) {
  Provider making = provider();
  const std::string first = prepared(making);
  EXPECT_EQ(prepared(making), first);
  EXPECT_EQ(created().size(), 2U);
  EXPECT_THAT(engine_.changes().back(), on(2, "PUT", "/archive"));
}

TEST_F(HypervProvider, APreflightThatWasInterruptedIsAPreparation) {
  Provider making = provider();
  // The trial is made and its start is refused; what would undo it fails as well, as after a crash.
  engine_.engine().on(on(1, "DELETE", ""), {reply(500, "{}")});
  engine_.engine().on(on(1, "POST", "/start"), {reply(500, R"({"message":"hcs: no memory"})")});
  const auto error = preparing();
  EXPECT_EQ(error.status(), Status::retry);
  EXPECT_THAT(error.what(), HasSubstr("hcs: no memory"));
  EXPECT_EQ(engine_.containers(), 1U);
  const auto left = making.recover(call_.call(), allocation_);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_TRUE(making.owns(call_.call(), allocation_, left[0].environment));
  EXPECT_EQ(making.inspect(call_.call(), allocation_).status, EnvironmentStatus::prepared);
  engine_.engine().forget(on(1, "DELETE", ""));
  engine_.engine().forget(on(1, "POST", "/start"));
  EXPECT_EQ(prepared(making), "hyperv:" + id(3));
  EXPECT_EQ(engine_.containers(), 1U);
}

TEST_F(HypervProvider, UndoesWhatAFailedPreparationMade) {
  engine_.engine().on("PUT /containers/",
                      {reply(500, R"({"message":"there is not enough space on the disk"})")});
  const auto error = preparing();
  EXPECT_EQ(error.status(), Status::retry);
  EXPECT_THAT(error.what(), HasSubstr("not enough space"));
  EXPECT_EQ(engine_.containers(), 0U);
  engine_.engine().on("PUT /containers/", {raw("")});
  EXPECT_EQ(preparing().status(), Status::unreachable);
  EXPECT_EQ(engine_.containers(), 0U);
}

TEST_F(HypervProvider, LeavesAStrangerOfItsNameAlone) {
  Provider making = provider();
  prepared(making);
  allocation_.policy = "web";
  const std::string other = "another-host";
  allocation_.host = other;
  const auto error = preparing();
  EXPECT_EQ(error.status(), Status::exists);
  EXPECT_THAT(error.what(), HasSubstr(name_));
  making.remove(call_.call(), allocation_);
  EXPECT_EQ(engine_.containers(), 1U);
}

TEST_F(HypervProvider, RefusesBeforeItMakesAnything) {
  allocation_.image = "windows:latest";
  EXPECT_EQ(preparing().status(), Status::invalid);
  allocation_.image = WindowsEngine::image();
  allocation_.profile.pids = 5;
  EXPECT_EQ(preparing().status(), Status::unsupported);
  allocation_.profile.pids = 0;
  EXPECT_EQ(preparing({{"bootstrap", "/nonexistent/bootstrap"}}).status(), Status::invalid);
  engine_.engine().on("GET /images/registry.test/windows/runner",
                      {reply(200, json{{"Id", "sha256:" + std::string(64, 'e')},
                                       {"RepoDigests", {WindowsEngine::image()}},
                                       {"Os", "linux"},
                                       {"Architecture", "amd64"}}
                                      .dump())});
  const auto wrong = preparing();
  EXPECT_EQ(wrong.status(), Status::unsupported);
  EXPECT_THAT(wrong.what(), AllOf(HasSubstr("linux/amd64"), HasSubstr("windows/amd64")));
  fs::rename(package_ + "/bin/Runner.Listener.exe", package_ + "/bin/Runner.Listener");
  EXPECT_THAT(preparing().what(), HasSubstr("Runner.Listener.exe"));
  EXPECT_THAT(engine_.changes(), IsEmpty());
}

TEST_F(HypervProvider, PullsForWindowsAlone) {
  engine_.engine().on("GET /images/registry.test/windows/runner", {reply(404, "{}")});
  Provider asking = provider();
  rmgr::Profile profile;
  profile.image = WindowsEngine::image_name();
  const auto error = error_of([&] { asking.resolve(call_.call(), profile); });
  EXPECT_EQ(error.status(), Status::not_found);
  EXPECT_THAT(engine_.engine().lines(),
              Contains(AllOf(StartsWith("POST /images/create"), HasSubstr("&platform=windows%2Famd64"))));
}

// What is not shown because the engine shows something else is not gone.
TEST_F(HypervProvider, AnEngineInLinuxModeIsNoAnswerAboutContainers) {
  Provider living = provider();
  allocation_.environment = prepared(living);
  engine_.engine().on("GET /_ping", {reply(200, "OK", "Api-Version: 1.43\r\nOstype: linux\r\n")});
  const auto look = [&] { living.inspect(call_.call(), allocation_); };
  EXPECT_EQ(error_of(look).status(), Status::unsupported);
  EXPECT_EQ(error_of([&] { living.remove(call_.call(), allocation_); }).status(), Status::retry);
  EXPECT_EQ(error_of([&] { living.enumerate_owned(call_.call(), "host-1"); }).status(), Status::unsupported);
  const auto probe = living.probe(call_.call(), {});
  EXPECT_EQ(probe.readiness, Readiness::unsupported);
  EXPECT_THAT(probe.remedy, HasSubstr("switch it to Windows containers"));
  engine_.engine().on("GET /_ping", {raw("")});
  EXPECT_EQ(error_of(look).status(), Status::unreachable);
  EXPECT_EQ(living.probe(call_.call(), {}).readiness, Readiness::degraded);
}

TEST_F(HypervProvider, ProbesSayWhatIsMissing) {
  const auto probe = [&](const rmgr::Profile& profile, const json& more = json::object()) {
    Provider asking = provider(more);
    return asking.probe(call_.call(), profile);
  };
  EXPECT_EQ(probe({}).readiness, Readiness::ready);
  rmgr::Profile profile;
  profile.image = "no image";
  EXPECT_EQ(probe(profile).readiness, Readiness::image_unavailable);
  profile.image = "absent:1";
  EXPECT_EQ(probe(profile, {{"pull", "never"}}).readiness, Readiness::image_unavailable);
  profile = {};
  profile.pids = 10;
  EXPECT_EQ(probe(profile).readiness, Readiness::unsupported);
  EXPECT_THAT(probe(profile).remedy, HasSubstr("no limit of processes"));
  profile = {};
  profile.disk_bytes = 1;
  EXPECT_EQ(probe(profile).readiness, Readiness::ready);
  EXPECT_THAT(probe({}, {{"network", "corp"}}).note, HasSubstr("corp"));
  EXPECT_EQ(probe({}, {{"bootstrap", "/nonexistent/bootstrap"}}).readiness, Readiness::not_installed);
  engine_.engine().on("GET /info", {reply(200, R"({"OSType":"windows","Driver":"windows"})")});
  EXPECT_EQ(probe(profile).readiness, Readiness::disk_quota_unavailable);
  engine_.engine().on("GET /version", {reply(200, R"({"ApiVersion":"1.43","Os":"windows","Arch":"arm64"})")});
  EXPECT_THAT(probe({}).remedy, HasSubstr("windows/arm64"));
}

TEST_F(HypervProvider, TheEngineOfThisMachineNeedsItsFeatures) {
  const Presence yes = Presence::present;
  const Presence no = Presence::absent;
  const auto probe = [&](const Features& features) {
    Provider asking(host_.host(), "{}", [features] { return features; });
    return asking.probe(call_.call(), {});
  };
  EXPECT_EQ(probe({false, no, no}).readiness, Readiness::unsupported);
  EXPECT_EQ(probe({true, no, yes}).readiness, Readiness::not_installed);
  EXPECT_EQ(probe({true, yes, no}).readiness, Readiness::not_installed);
  // Nothing is missing, and pipes of Windows exist on Windows only.
  EXPECT_THAT(probe({true, yes, yes}).remedy, HasSubstr("Named pipes"));
  Provider here(host_.host(), "{}");
  EXPECT_EQ(error_of([&] { here.inspect(call_.call(), allocation_); }).status(), Status::unsupported);
}

TEST_F(HypervProvider, SaysWhetherAProcessExisted) {
  Provider living = provider();
  allocation_.environment = prepared(living);
  rmgr::Error failure{Status::ok, ""};
  engine_.engine().on(on(2, "POST", "/start"), {reply(500, R"({"message":"hcs::CreateComputeSystem"})")});
  EXPECT_FALSE(started(living, "needle-1", &failure).process_existed);
  EXPECT_EQ(failure.status(), Status::retry);
  engine_.engine().on(on(2, "POST", "/start"), {raw("")});
  EXPECT_TRUE(started(living, "needle-1", &failure).process_existed);
  EXPECT_EQ(failure.status(), Status::unreachable);
  EXPECT_THAT(failure.what(), Not(HasSubstr("needle")));
}

}  // namespace
}  // namespace hyperv
