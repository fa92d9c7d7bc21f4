// The gateway as a GitHub App, against the emulator over HTTP. The host's clocks are the test's.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "client/emulator_client.hpp"
#include "github/gateway.hpp"
#include "support/rsa_key.hpp"
#include "unit/plugin_github/fakes.hpp"

namespace plugins::github {
namespace {

using namespace std::chrono_literals;
using plugin_test::error_of;
using plugin_test::FakeCall;
using plugin_test::FakeHost;
using rmgr::Status;

const testkit::KeyPair& key() {
  static const testkit::KeyPair pair = testkit::make_rsa_key();
  return pair;
}
const testkit::KeyPair& other_key() {
  static const testkit::KeyPair pair = testkit::make_rsa_key();
  return pair;
}

std::int64_t wall_now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

class AppCredential : public testing::Test {
 protected:
  AppCredential() : github({.repositories = {"acme/widgets", "globex/tools"}}) {
    github->change_app({.id = 42,
                        .client_id = "Iv1.emulated",
                        .public_key = key().public_key,
                        .installations = {{11, "acme"}, {12, "Globex"}}});
    host.set_wall(wall_now());
    host.set_secret("file:/key", key().pkcs8);
    make(R"({"client_id":"Iv1.emulated","private_key":"file:/key"})");
  }
  void make(const std::string& app) {
    gateway =
        std::make_unique<Gateway>(host.host(), R"({"url":")" + github.url() + R"(","app":)" + app + "}");
  }
  void look(const std::string& target = "acme/widgets") const { gateway->inventory(call.call(), target); }
  rmgr::Error failure(const std::string& target = "acme/widgets") const {
    return error_of([&] { look(target); });
  }
  [[nodiscard]] std::string state(const std::string& target = "acme/widgets") const {
    const auto error = failure(target);
    if (error.status() == Status::ok) return "ready";
    EXPECT_EQ(error.status(), Status::unauthorized) << error.what();
    const std::string text = error.what();
    return text.substr(11, text.find(':') - 11);
  }
  // Time since boot goes on; the wall clock stays with the emulator's.
  void pass(std::chrono::milliseconds duration) {
    host.advance(duration);
    host.set_wall(wall_now());
  }
  [[nodiscard]] std::size_t mints() const {
    return github->requests("POST", "/app/installations/*/access_tokens").size();
  }
  [[nodiscard]] std::size_t requests() const { return github->requests().size(); }

  emulator::EmulatorProcess github;
  FakeHost host;
  FakeCall call;
  std::unique_ptr<Gateway> gateway;
};

TEST_F(AppCredential, OneTokenServesManyOperations) {
  look();
  rmgr::RegistrationRequest request;
  request.target = "acme/widgets";
  request.name = "r1";
  request.runner_group_id = 1;
  request.labels = {"linux"};
  request.work_folder = "_work";
  const auto made = gateway->register_runner(call.call(), request);
  gateway->deregister(call.call(), "acme/widgets", made.runner_id);
  EXPECT_TRUE(gateway->demand(call.call(), "acme/widgets").jobs.empty());
  EXPECT_TRUE(gateway->demand(call.call(), "acme").jobs.empty())
      << "the organization's installation is the same";
  EXPECT_EQ(mints(), 1U);
  EXPECT_EQ(github->requests("GET", "*/installation").size(), 1U);
}

TEST_F(AppCredential, TheKeyMayBeOfEitherFormAndTheIssuerTheId) {
  host.set_secret("file:/key", key().pkcs1);
  make(R"({"id":42,"private_key":"file:/key"})");
  EXPECT_EQ(state(), "ready");
}

TEST_F(AppCredential, AConfiguredInstallationIsNotLookedUp) {
  make(R"({"id":42,"private_key":"file:/key","installation_id":11})");
  look();
  EXPECT_EQ(github->requests("GET", "*/installation").size(), 0U);
  EXPECT_EQ(mints(), 1U);
}

TEST_F(AppCredential, EachOwnerHasItsOwnToken) {
  look("acme/widgets");
  look("globex/tools");
  look("Acme/widgets");
  EXPECT_EQ(mints(), 2U);
  EXPECT_EQ(github->requests("POST", "/app/installations/12/access_tokens").size(), 1U);
}

TEST_F(AppCredential, ConcurrentCallsShareOneRequestForAToken) {
  github->add_fault({.action = "delay", .path = "*/access_tokens", .delay_ms = 300});
  std::vector<std::thread> threads;
  std::atomic<int> worked{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const FakeCall mine;
      worked += gateway->inventory(mine.call(), "acme/widgets").empty() ? 1 : 0;
    });
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(worked, 8);
  EXPECT_EQ(mints(), 1U);
  EXPECT_EQ(github->requests("GET", "*/installation").size(), 1U);
}

TEST_F(AppCredential, AClockThatIsWrongByTenMinutesOnEitherSideWorks) {
  for (const std::int64_t minutes : {10, -10}) {
    host.set_wall(wall_now() + minutes * 60'000);
    make(R"({"id":42,"private_key":"file:/key"})");
    github->clear_requests();
    EXPECT_EQ(state(), "ready") << minutes;
    EXPECT_EQ(github->requests("GET", "*/installation").size(), 2U) << "one refusal teaches the time";
    EXPECT_EQ(mints(), 1U);
  }
  host.set_wall(wall_now());
  for (const std::int64_t minutes : {10, -10}) {
    github->change_settings({.clock_offset_ms = minutes * 60'000});
    make(R"({"id":42,"private_key":"file:/key"})");
    EXPECT_EQ(state(), "ready") << minutes;
  }
}

TEST_F(AppCredential, ATokenIsRenewedBeforeItsEnd) {
  look();
  pass(54min);
  look();
  EXPECT_EQ(mints(), 1U);
  pass(90s);
  look();
  EXPECT_EQ(mints(), 2U);
}

TEST_F(AppCredential, ATokenThatCannotBeRenewedYetIsUsedUp) {
  look();
  pass(56min);
  github->add_fault({.action = "status", .path = "*/access_tokens", .count = -1, .status = 502});
  look();
  look();
  EXPECT_EQ(mints(), 2U) << "the next try waits";
  pass(5min);
  EXPECT_EQ(failure().status(), Status::bad_response);
  github->clear_faults();
  look();
}

TEST_F(AppCredential, ATokenThatEndedEarlyIsMadeAnewOnce) {
  look();
  github->change_app({.expire_tokens = true});
  look();
  EXPECT_EQ(mints(), 2U);
  EXPECT_EQ(github->requests("GET", "*/actions/runners").size(), 3U);
}

TEST_F(AppCredential, ARevokedKeyIsVisibleQuietAndRecoversByItself) {
  look();
  github->change_app({.revoked = true, .expire_tokens = true});
  const auto error = failure();
  EXPECT_TRUE(std::string_view(error.what()).starts_with("Credential rejected: ")) << error.what();
  EXPECT_NE(std::string_view(error.what()).find("make a new key"), std::string_view::npos);
  EXPECT_EQ(error.retry_after(), 30s);
  github->clear_requests();
  // An hour of looks every ten seconds.
  for (int i = 0; i < 360; ++i) {
    EXPECT_EQ(state(), "rejected");
    pass(10s);
  }
  EXPECT_LE(requests(), 2U * 8U) << "two at 30, 90, 210, 450, 930, 1830, 2730 s";
  EXPECT_GE(requests(), 2U * 5U);
  github->change_app({.revoked = false});
  github->clear_requests();
  pass(15min);
  EXPECT_EQ(state(), "ready");
  EXPECT_LE(requests(), 3U);
}

TEST_F(AppCredential, AnotherKeyIsTriedAtOnce) {
  host.set_secret("file:/key", other_key().pkcs8);
  EXPECT_EQ(state(), "rejected");
  EXPECT_EQ(state("globex/tools"), "rejected");
  const auto before = requests();
  EXPECT_EQ(state(), "rejected");
  EXPECT_EQ(requests(), before);
  host.set_secret("file:/key", key().pkcs8);
  EXPECT_EQ(state(), "ready");
  EXPECT_EQ(state("globex/tools"), "ready");
}

TEST_F(AppCredential, AnUnknownAppIsRejected) {
  make(R"({"id":43,"private_key":"file:/key"})");
  EXPECT_EQ(state(), "rejected");
}

TEST_F(AppCredential, AMissingInstallationConcernsItsOwnerAlone) {
  github->change_app({.uninstall = 12});
  EXPECT_EQ(state("globex/tools"), "not_installed");
  EXPECT_EQ(state("acme/widgets"), "ready");
  const auto before = requests();
  EXPECT_EQ(state("globex/tools"), "not_installed");
  EXPECT_EQ(requests(), before);
  github->change_app({.installations = {{13, "globex"}}});
  pass(30s);
  EXPECT_EQ(state("globex/tools"), "ready");
}

// An App may be given some of an owner's repositories only.
TEST_F(AppCredential, ARepositoryThatTheAppWasNotGivenConcernsItselfAlone) {
  github->add_fault(
      {.action = "status", .path = "/repos/acme/other/installation", .count = -1, .status = 404});
  EXPECT_EQ(state("acme/other"), "not_installed");
  EXPECT_EQ(state("acme/widgets"), "ready");
  github->clear_requests();
  make(R"({"id":42,"private_key":"file:/key"})");
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(state("acme/other"), "not_installed");
    pass(4s);
  }
  EXPECT_EQ(requests(), 1U) << "asked quietly";
}

TEST_F(AppCredential, WhoWaitsForAnotherTargetsLookUpIsNotRefusedWithIt) {
  const auto fault = github->add_fault(
      {.action = "status", .path = "/repos/acme/other/installation", .delay_ms = 400, .status = 404});
  std::thread refused([&] {
    const FakeCall mine;
    EXPECT_EQ(error_of([&] { gateway->inventory(mine.call(), "acme/other"); }).status(),
              Status::unauthorized);
  });
  for (int i = 0; i < 500 && github->fault_hits(fault) == 0; ++i)
    std::this_thread::sleep_for(2ms);
  EXPECT_EQ(state("acme/widgets"), "ready");
  refused.join();
}

TEST_F(AppCredential, WhoWaitsForARenewalThatFailsUsesTheOldTokenToo) {
  look();
  pass(56min);
  github->add_fault(
      {.action = "status", .path = "*/access_tokens", .count = -1, .delay_ms = 300, .status = 502});
  std::vector<std::thread> threads;
  std::atomic<int> worked{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const FakeCall mine;
      worked +=
          error_of([&] { gateway->inventory(mine.call(), "acme/widgets"); }).status() == Status::ok ? 1 : 0;
    });
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(worked, 4);
}

TEST_F(AppCredential, AnInstallationThatWasMadeAnewIsFound) {
  look();
  github->change_app({.installations = {{14, "acme"}}, .uninstall = 11});
  EXPECT_EQ(state(), "ready");
  EXPECT_EQ(github->requests("POST", "/app/installations/14/access_tokens").size(), 1U);
}

TEST_F(AppCredential, ASuspendedInstallationIsVisibleAndResumes) {
  look();
  github->change_app({.suspend = 11});
  EXPECT_EQ(state(), "suspended");
  EXPECT_EQ(state("globex/tools"), "ready");
  make(R"({"id":42,"private_key":"file:/key"})");
  EXPECT_EQ(state(), "suspended") << "also from the start";
  github->change_app({.resume = 11});
  pass(30s);
  EXPECT_EQ(state(), "ready");
}

TEST_F(AppCredential, AKeyThatCannotBeReadOrUsedIsSaidWithoutARequest) {
  make(R"({"id":42,"private_key":"file:/missing"})");
  EXPECT_EQ(state(), "unreadable");
  host.set_secret("file:/missing", "needle");
  const auto error = failure();
  EXPECT_TRUE(std::string_view(error.what()).starts_with("Credential unusable: ")) << error.what();
  EXPECT_EQ(std::string_view(error.what()).find("needle"), std::string_view::npos);
  EXPECT_EQ(requests(), 0U);
  host.set_secret("file:/missing", key().pkcs8);
  EXPECT_EQ(state(), "ready");
}

TEST_F(AppCredential, AnUnreachableServerSaysNothingAboutTheCredential) {
  github->add_fault({.action = "html", .path = "*/installation", .count = -1});
  EXPECT_EQ(failure().status(), Status::bad_response);
  github->clear_faults();
  github->add_fault({.action = "drop", .path = "*/access_tokens", .count = -1});
  EXPECT_EQ(failure().status(), Status::unreachable);
  github->clear_faults();
  EXPECT_EQ(state(), "ready");
}

TEST_F(AppCredential, AProofIsUsedOnce) {
  for (int i = 0; i < 5; ++i) {
    github->change_app({.expire_tokens = true});
    look();
  }
  for (const auto& request : github->requests("POST", "/app/*"))
    EXPECT_EQ(request.status, 201);
}

TEST_F(AppCredential, ATokenWhoseTimeIsOverIsCalledExpired) {
  host.set_secret("env:T", github.token());
  gateway = std::make_unique<Gateway>(host.host(), R"({"url":")" + github.url() + R"(","token":"env:T"})");
  github->change_settings({.token_expires_at_ms = wall_now() + 3'600'000});
  EXPECT_EQ(state(), "ready");
  github->change_settings({.clock_offset_ms = 2 * 3'600'000});
  EXPECT_EQ(state(), "expired");
  const auto before = requests();
  EXPECT_EQ(state(), "expired");
  EXPECT_EQ(requests(), before);
  github->change_settings({.token_expires_at_ms = 0});
  pass(30s);
  EXPECT_EQ(state(), "ready");
}

}  // namespace
}  // namespace plugins::github
