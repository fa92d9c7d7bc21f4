// The provider against an engine that says what the test wants.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "oci/provider.hpp"
#include "unit/plugin_github/fakes.hpp"
#include "unit/support_engine/scripted_engine.hpp"

namespace oci {
namespace {

namespace fs = std::filesystem;
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
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

const std::string id(64, 'c');
const std::string digest = "sha256:" + std::string(64, 'a');
const std::string image = "registry.test/runner@" + digest;
constexpr const char* name = "rm-11111111-2222-4333-8444-555555555555-0123abcd";

class OciProvider : public ::testing::Test {
 protected:
  OciProvider() {
    fs::create_directories(directory_.path() + "/bin");
    std::ofstream(package_ + "/bin/Runner.Listener") << "#!/bin/sh\n";
    engine_.on("GET /images/registry.test/runner", {reply(200, image_json())});
    engine_.on("GET /networks", {reply(200, "[]")});
    engine_.on("POST /networks/create", {reply(201, R"({"Id":"bbbb"})")});
    engine_.on("POST /containers/create", {reply(201, R"({"Id":")" + id + R"("})")});
    engine_.on("PUT /containers/", {reply(200, "")});
    engine_.on("DELETE /", {reply(204, "")});
    engine_.on("GET /info", {reply(200, R"({"OSType":"linux","Driver":"overlay2","MemoryLimit":true,
                                         "DriverStatus":[["Backing Filesystem","extfs"]]})")});
    allocation_.host = "host-1";
    allocation_.attempt = "11111111-2222-4333-8444-555555555555";
    allocation_.generation = "0123abcd0123abcd0123abcd0123abcd";
    allocation_.image = image;
    allocation_.policy = "web";
    allocation_.package = package_;
    allocation_.runtime = package_;
  }

  static std::string image_json(const std::string& architecture = "amd64") {
    return R"({"Id":")" + digest + R"(","RepoDigests":[")" + image + R"("],"Os":"linux","Architecture":")" +
           architecture + R"(","Config":{"User":""}})";
  }
  static std::string container(const std::string& state,
                               const std::string& generation = "0123abcd0123abcd0123abcd0123abcd") {
    return R"({"Id":")" + id + R"(","Name":"/)" + name + R"(","Image":"i","Config":{"Labels":{
      "runner-manager.host":"host-1","runner-manager.attempt":"11111111-2222-4333-8444-555555555555",
      "runner-manager.generation":")" +
           generation + R"(","runner-manager.image":")" + image + R"("}},"State":)" + state + "}";
  }
  void shows(const std::string& state) { engine_.on("GET /containers/", {reply(200, container(state))}); }

  Provider provider(const std::string& more = "") {
    return Provider(host_.host(), R"({"host":")" + engine_.address() + "\"" + more + "}");
  }
  std::vector<std::string> lines() { return engine_.lines(); }
  // The asked lines that change something.
  std::vector<std::string> changes() {
    std::vector<std::string> all;
    for (const std::string& line : lines()) {
      if (!line.starts_with("GET ")) all.push_back(line.substr(0, line.find('?')));
    }
    return all;
  }
  rmgr::Error preparing() {
    Provider making = provider();
    return error_of([&] { making.prepare(call_.call(), allocation_); });
  }

  testkit::TemporaryDirectory directory_;
  const std::string package_ = directory_.path();
  scripted::Engine engine_;
  FakeHost host_;
  FakeCall call_;
  rmgr::Allocation allocation_;
};

TEST_F(OciProvider, PreparesANetworkAContainerAndThePackage) {
  Provider making = provider();
  EXPECT_EQ(making.prepare(call_.call(), allocation_), "docker:" + id);
  EXPECT_THAT(changes(), ElementsAre("POST /networks/create", "POST /containers/create",
                                     "PUT /containers/" + id + "/archive"));
  std::string body;
  for (const Asked& one : engine_.asked()) {
    if (one.line.starts_with("POST /containers/create")) body = one.body;
  }
  for (const char* part :
       {R"("CapDrop":["ALL"])", R"("Privileged":false)", R"("SecurityOpt":["no-new-privileges"])",
        R"("RestartPolicy":{"Name":"no"})", R"("LogConfig":{"Config":{},"Type":"none"})", R"("Init":true)",
        R"("PidsLimit":4096)", R"("StdinOnce":true)", R"("OpenStdin":true)", R"("Tty":false)",
        R"("runner-manager.policy":"web")", R"("runner-manager.host":"host-1")"})
    EXPECT_THAT(body, HasSubstr(part));
  EXPECT_THAT(body, HasSubstr(std::string(R"("NetworkMode":")") + name));
  EXPECT_THAT(body, Not(HasSubstr("Binds")));
  EXPECT_THAT(body, Not(HasSubstr("Mounts")));
}

TEST_F(OciProvider, APolicysContainersHaveItsOwnSettings) {
  Provider making =
      provider(R"(,"policies":{"web":{"network":"none","privilege_escalation":true},"other":{"user":"7"}})");
  making.prepare(call_.call(), allocation_);
  EXPECT_THAT(changes(), ElementsAre("POST /containers/create", "PUT /containers/" + id + "/archive"));
  for (const Asked& one : engine_.asked()) {
    if (!one.line.starts_with("POST /containers/create")) continue;
    EXPECT_THAT(one.body, HasSubstr(R"("NetworkMode":"none")"));
    EXPECT_THAT(one.body, HasSubstr(R"("User":"")"));
    EXPECT_THAT(one.body, Not(HasSubstr("no-new-privileges")));
  }
}

TEST_F(OciProvider, FindsItsOwnAgainAndLeavesAStrangerAlone) {
  shows(R"({"Status":"created"})");
  Provider making = provider();
  EXPECT_EQ(making.prepare(call_.call(), allocation_), "docker:" + id);
  EXPECT_THAT(changes(), ElementsAre("PUT /containers/" + id + "/archive"));
  engine_.on("GET /containers/", {reply(200, container(R"({"Status":"created"})", "another"))});
  const auto error = preparing();
  EXPECT_EQ(error.status(), Status::exists);
  EXPECT_THAT(error.what(), HasSubstr(name));
  EXPECT_THAT(changes(), Not(Contains(StartsWith("DELETE"))));
  shows(R"({"Status":"running"})");
  EXPECT_EQ(preparing().status(), Status::busy);
  EXPECT_THAT(changes(), Not(Contains(StartsWith("DELETE"))));
}

// The answer to a request that succeeded was lost.
TEST_F(OciProvider, TakesANameConflictWithItselfForASuccess) {
  engine_.on("POST /containers/create", {reply(409, R"({"message":"the name is already in use"})")});
  engine_.on("GET /containers/", {reply(404, "{}"), reply(200, container(R"({"Status":"created"})"))});
  Provider making = provider();
  EXPECT_EQ(making.prepare(call_.call(), allocation_), "docker:" + id);
}

TEST_F(OciProvider, UndoesWhatAFailedPreparationMade) {
  engine_.on("PUT /containers/", {reply(500, R"({"message":"write /x: no space left on device"})")});
  engine_.on("GET /networks", {reply(200, "[]"), reply(200, R"([{"Id":"bbbb","Name":"n","Labels":{}}])")});
  const auto error = preparing();
  EXPECT_EQ(error.status(), Status::retry);
  EXPECT_THAT(error.what(), HasSubstr("no space left on device"));
  EXPECT_THAT(changes(), Contains("DELETE /containers/" + id));
  EXPECT_THAT(changes(), Contains("DELETE /networks/bbbb"));
}

TEST_F(OciProvider, RefusesBeforeItMakesAnything) {
  allocation_.image = "ubuntu:latest";
  EXPECT_EQ(preparing().status(), Status::invalid);
  allocation_.image = image;
  fs::remove_all(package_ + "/bin");
  EXPECT_EQ(preparing().status(), Status::invalid);
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_F(OciProvider, HandsTheSecretToTheContainerAndToNothingElse) {
  shows(R"({"Status":"created"})");
  std::mutex mutex;
  std::string heard;
  engine_.on("POST /containers/" + id + "/attach", {[&](const Asked&, const Line& line) {
               line.say("HTTP/1.1 101 UPGRADED\r\n\r\n");
               const std::string all = line.hear_all();
               const std::lock_guard lock(mutex);
               heard = all;
               line.say("rmgr-secret-taken\n");
             }});
  engine_.on("POST /containers/" + id + "/start", {reply(204, "")});
  Provider starting = provider();
  rmgr::StartResult result;
  starting.start(call_.call(), allocation_, rmgr::SecretView(std::string_view("needle-1")), result);
  {
    const std::lock_guard lock(mutex);
    EXPECT_EQ(heard, "needle-1\n");
  }
  for (const Asked& one : engine_.asked()) {
    EXPECT_THAT(one.head, Not(HasSubstr("needle")));
    EXPECT_THAT(one.body, Not(HasSubstr("needle")));
  }
}

TEST_F(OciProvider, SaysWhetherAProcessExisted) {
  const auto started = [&](const std::string& state_after, scripted::Answer start, const char* word) {
    engine_.on("GET /containers/",
               {reply(200, container(R"({"Status":"created"})")), reply(200, container(state_after))});
    engine_.on("POST /containers/" + id + "/attach", {[word](const Asked&, const Line& line) {
                 line.say("HTTP/1.1 101 UPGRADED\r\n\r\n");
                 (void)line.hear_all();
                 line.say(word);
               }});
    engine_.on("POST /containers/" + id + "/start", {std::move(start)});
    Provider starting = provider();
    rmgr::StartResult result;
    const auto error = error_of([&] {
      starting.start(call_.call(), allocation_, rmgr::SecretView(std::string_view("needle-1")), result);
    });
    EXPECT_NE(error.status(), Status::ok);
    EXPECT_THAT(error.what(), Not(HasSubstr("needle")));
    return result.process_existed;
  };
  const auto refused = reply(500, R"({"message":"OCI runtime create failed"})");
  EXPECT_FALSE(started(R"({"Status":"created","Error":"x"})", refused, ""));
  EXPECT_TRUE(started(R"({"Status":"exited","ExitCode":1})", refused, ""));
  EXPECT_TRUE(started(R"({"Status":"running"})", raw(""), ""));
  EXPECT_TRUE(started(R"({"Status":"exited","ExitCode":70})", reply(204, ""), "ended"));
}

TEST_F(OciProvider, IsStartedOnceOnly) {
  for (const char* state : {R"({"Status":"running"})", R"({"Status":"exited","ExitCode":0})"}) {
    shows(state);
    Provider starting = provider();
    rmgr::StartResult result;
    const auto error = error_of([&] {
      starting.start(call_.call(), allocation_, rmgr::SecretView(std::string_view("needle-1")), result);
    });
    EXPECT_EQ(error.status(), Status::busy);
    EXPECT_TRUE(result.process_existed);
  }
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_F(OciProvider, LooksAreErrorsUnlessTheyAreCertain) {
  Provider looking = provider();
  const auto look = [&] { return looking.inspect(call_.call(), allocation_); };
  EXPECT_EQ(look().status, EnvironmentStatus::missing);
  shows(R"({"Status":"created"})");
  EXPECT_EQ(look().status, EnvironmentStatus::prepared);
  shows(R"({"Status":"running"})");
  EXPECT_EQ(look().status, EnvironmentStatus::running);
  shows(R"({"Status":"exited","ExitCode":0})");
  EXPECT_TRUE(look().clean);
  shows(R"({"Status":"exited","ExitCode":137,"OOMKilled":true})");
  EXPECT_EQ(look().exit_code, -1);
  EXPECT_TRUE(look().out_of_memory);
  EXPECT_FALSE(look().clean);
  engine_.on("GET /containers/", {reply(500, R"({"message":"no"})")});
  EXPECT_EQ(error_of(look).status(), Status::retry);
  engine_.on("GET /containers/", {raw("")});
  EXPECT_EQ(error_of(look).status(), Status::unreachable);
  const std::string environment = "podman:" + id;
  allocation_.environment = environment;
  EXPECT_EQ(error_of(look).status(), Status::invalid);
}

TEST_F(OciProvider, RemovesWhatIsItsOwnAndSaysWhenItCannot) {
  Provider removing = provider();
  removing.remove(call_.call(), allocation_);
  EXPECT_THAT(changes(), IsEmpty());
  engine_.on("GET /containers/", {reply(200, container(R"({"Status":"created"})", "another"))});
  removing.remove(call_.call(), allocation_);
  EXPECT_THAT(changes(), IsEmpty());
  engine_.on("GET /containers/", {reply(200, container(R"({"Status":"exited"})")), reply(404, "{}")});
  removing.remove(call_.call(), allocation_);
  EXPECT_THAT(changes(), ElementsAre("DELETE /containers/" + id));
  shows(R"({"Status":"exited"})");
  EXPECT_EQ(error_of([&] { removing.remove(call_.call(), allocation_); }).status(), Status::retry);
  engine_.on("DELETE /containers/", {reply(409, R"({"message":"removal is in progress"})")});
  EXPECT_EQ(error_of([&] { removing.remove(call_.call(), allocation_); }).status(), Status::retry);
}

TEST_F(OciProvider, AnIncompleteListIsAnErrorAndALoneNetworkCounts) {
  Provider listing = provider();
  const auto list = [&] { return listing.enumerate_owned(call_.call(), "host-1"); };
  const std::string labels = R"("Labels":{"runner-manager.host":"host-1","runner-manager.attempt":"a",
                              "runner-manager.generation":"g","runner-manager.image":"i"}})";
  engine_.on("GET /containers/json", {reply(200, R"([{"Id":"cc","Names":["/rm-a"],)" + labels + "]")});
  engine_.on("GET /networks", {reply(200, R"([{"Id":"aa","Name":"rm-a",)" + labels +
                                              R"(,{"Id":"bb","Name":"rm-b",)" + labels + "]")});
  const auto all = list();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].environment, "docker:cc");
  EXPECT_EQ(all[0].generation, "g");
  EXPECT_EQ(all[1].environment, "docker:network/bb");
  EXPECT_EQ(listing.recover(call_.call(), allocation_).size(), 2U);
  const std::string environment = "docker:cc";
  allocation_.environment = environment;
  EXPECT_EQ(listing.recover(call_.call(), allocation_).size(), 1U)
      << "the network is a part of what is on record";
  engine_.on("GET /networks", {reply(500, "{}")});
  EXPECT_EQ(error_of(list).status(), Status::retry);
}

TEST_F(OciProvider, ProbesSayWhatIsMissing) {
  const auto probe = [&](const rmgr::Profile& profile, const std::string& more = "") {
    return provider(more).probe(call_.call(), profile);
  };
  EXPECT_EQ(probe({}).readiness, Readiness::ready);
  rmgr::Profile profile;
  profile.image = "not an image";
  EXPECT_EQ(probe(profile).readiness, Readiness::image_unavailable);
  profile.image = "absent:1";
  EXPECT_EQ(probe(profile).readiness, Readiness::ready);
  EXPECT_EQ(probe(profile, R"(,"pull":"never")").readiness, Readiness::image_unavailable);
  profile = {};
  profile.disk_bytes = 1 << 30;
  EXPECT_EQ(probe(profile).readiness, Readiness::disk_quota_unavailable);
  profile = {};
  profile.memory_bytes = 1 << 30;
  EXPECT_EQ(probe(profile).readiness, Readiness::ready);
  profile.pids = 100;
  EXPECT_EQ(probe(profile).readiness, Readiness::unsupported);
  EXPECT_THAT(probe({}, R"(,"privilege_escalation":true)").note, HasSubstr("set-user-ID"));
  const std::string own = R"(,"policies":{"web":{"privilege_escalation":true}})";
  EXPECT_THAT(probe({}, own).note, IsEmpty());
  profile = {};
  profile.policy = "web";
  EXPECT_THAT(probe(profile, own).note, HasSubstr("privilege_escalation"));
  EXPECT_EQ(probe({}, R"(,"engine":"podman")").readiness, Readiness::unsupported);
  engine_.on("GET /info", {reply(200, R"({"OSType":"windows"})")});
  EXPECT_EQ(probe({}).readiness, Readiness::unsupported);
  engine_.on("GET /_ping", {reply(500, "no")});
  EXPECT_EQ(probe({}).readiness, Readiness::degraded);
  Provider nobody(host_.host(), R"({"host":"unix:///nonexistent/engine.sock"})");
  const auto absent = nobody.probe(call_.call(), {});
  EXPECT_EQ(absent.readiness, Readiness::not_installed);
  EXPECT_THAT(absent.remedy, HasSubstr("/nonexistent/engine.sock"));
}

TEST_F(OciProvider, ResolvesATagToOneContent) {
  rmgr::Profile profile;
  profile.image = "registry.test/runner:1";
  const auto resolving = [&](const std::string& more = "") {
    Provider asking = provider(more);
    return asking.resolve(call_.call(), profile);
  };
  EXPECT_EQ(resolving(), image);
  EXPECT_THAT(changes(), IsEmpty());
  profile.image = image;
  EXPECT_EQ(resolving(), image);
  profile.image = "registry.test/runner:1";
  engine_.on("GET /images/registry.test/runner", {reply(200, image_json("arm64"))});
  EXPECT_EQ(error_of([&] { resolving(); }).status(), Status::unsupported);
  engine_.on("GET /images/registry.test/runner", {reply(404, "{}"), reply(200, image_json())});
  engine_.on("POST /images/create", {reply(200, "{\"status\":\"done\"}\n")});
  EXPECT_EQ(resolving(), image);
  engine_.on("GET /images/registry.test/runner", {reply(404, "{}")});
  EXPECT_EQ(error_of([&] { resolving(R"(,"pull":"never")"); }).status(), Status::not_found);
  engine_.on("POST /images/create", {reply(200, "{\"error\":\"unauthorized: authentication required\"}\n")});
  EXPECT_EQ(error_of([&] { resolving(); }).status(), Status::unauthorized);
  profile.image = "";
  EXPECT_EQ(error_of([&] { resolving(); }).status(), Status::invalid);
}

TEST_F(OciProvider, ShowsARegistryItsOwnCredentialAlone) {
  host_.set_secret("env:PASSWORD", "needle-password");
  const std::string auth =
      R"(,"registry_auth":[{"registry":"registry.test","username":"u","password":"env:PASSWORD"}])";
  engine_.on("GET /images/", {reply(404, "{}")});
  engine_.on("GET /images/registry.test/runner", {reply(404, "{}")});
  engine_.on("POST /images/create", {reply(200, "")});
  Provider asking = provider(auth);
  rmgr::Profile profile;
  for (const char* each : {"registry.test/runner:1", "other.test/runner:1"}) {
    profile.image = each;
    const auto error = error_of([&] { asking.resolve(call_.call(), profile); });
    EXPECT_THAT(error.what(), Not(HasSubstr("needle")));
  }
  std::vector<bool> credentials;
  for (const Asked& one : engine_.asked()) {
    if (one.line.starts_with("POST /images"))
      credentials.push_back(one.head.find("X-Registry-Auth") != std::string::npos);
  }
  EXPECT_THAT(credentials, ElementsAre(true, false));
}

}  // namespace
}  // namespace oci
