// The gateway against a scripted server: what each answer becomes for the host.
#include "github/gateway.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "unit/plugin_github/fakes.hpp"
#include "unit/plugin_github/server.hpp"

namespace plugins::github {
namespace {

using namespace std::chrono_literals;
using plugin_test::error_of;
using plugin_test::FakeCall;
using plugin_test::FakeHost;
using plugin_test::json;
using plugin_test::Reply;
using plugin_test::Server;
using rmgr::Status;
using Manner = Reply::Manner;

const std::string kToken = "ghp_needle0123456789";
const std::string kRunners = "GET /api/v3/repos/octo/app/actions/runners?per_page=100";
const std::string kJit = "POST /api/v3/repos/octo/app/actions/runners/generate-jitconfig";
const std::string kDelete = "DELETE /api/v3/repos/octo/app/actions/runners/7";

std::string runs_line(const std::string& status, const std::string& repository = "octo/app") {
  return "GET /api/v3/repos/" + repository + "/actions/runs?status=" + status + "&per_page=100";
}
std::string jobs_line(int run, const std::string& repository = "octo/app") {
  return "GET /api/v3/repos/" + repository + "/actions/runs/" + std::to_string(run) +
         "/jobs?filter=latest&per_page=100";
}
std::string runs_body(const std::vector<int>& ids) {
  std::string text;
  for (const int id : ids)
    text += (text.empty() ? "" : ",") + std::string("{\"id\":") + std::to_string(id) + "}";
  return "{\"total_count\":9,\"workflow_runs\":[" + text + "]}";
}
std::string job(int id, int run, const std::string& status) {
  return "{\"id\":" + std::to_string(id) + ",\"run_id\":" + std::to_string(run) + ",\"status\":\"" + status +
         "\",\"labels\":[\"self-hosted\"],\"runner_name\":null,\"runner_group_id\":null}";
}
std::string jobs_body(const std::vector<std::string>& jobs) {
  std::string text;
  for (const auto& one : jobs)
    text += (text.empty() ? "" : ",") + one;
  return "{\"total_count\":9,\"jobs\":[" + text + "]}";
}
std::string runner(int id, bool busy = false) {
  return "{\"id\":" + std::to_string(id) + ",\"name\":\"r" + std::to_string(id) +
         "\",\"status\":\"online\",\"busy\":" + (busy ? "true" : "false") + "}";
}
Reply rejected() { return json(R"({"message":"Bad credentials"})", 401); }

class GitHubGateway : public testing::Test {
 protected:
  GitHubGateway() {
    host.set_secret("env:T", kToken);
    make();
  }
  void make(const std::string& more = "") {
    gateway = std::make_unique<Gateway>(host.host(),
                                        "{\"token\":\"env:T\",\"url\":\"" + server.url() + "\"" + more + "}");
  }
  rmgr::Error inventory_error() {
    return error_of([&] { gateway->inventory(call.call(), "octo/app"); });
  }
  rmgr::Registration register_runner(const std::string& target = "octo/app") {
    rmgr::RegistrationRequest request;
    request.target = target;
    request.name = "r1";
    request.runner_group_id = 3;
    request.labels = {"self-hosted", "linux"};
    request.work_folder = "_work";
    return gateway->register_runner(call.call(), request);
  }
  rmgr::Error register_error() {
    return error_of([&] { register_runner(); });
  }
  rmgr::Error deregister_error() {
    return error_of([&] { gateway->deregister(call.call(), "octo/app", 7); });
  }
  std::string next(const std::string& path) const {
    return "<" + server.url() + path + ">; rel=\"next\", <" + server.url() + "/last>; rel=\"last\"";
  }

  Server server;
  FakeHost host;
  FakeCall call;
  std::unique_ptr<Gateway> gateway;
};

TEST_F(GitHubGateway, InventoryFollowsEveryPageAndAsksProperly) {
  server.on(kRunners, {json("{\"runners\":[" + runner(1) + "," + runner(2, true) + "]}", 200,
                            {{"Link", next("/api/v3/p?labels=a,b&page=2")}})});
  server.on("GET /api/v3/p?labels=a,b&page=2",
            {json("{\"runners\":[" + runner(2, true) + "," + runner(3) + "]}")});
  const auto runners = gateway->inventory(call.call(), "octo/app");
  ASSERT_EQ(runners.size(), 3U);
  EXPECT_EQ(runners[0].name, "r1");
  EXPECT_TRUE(runners[0].online);
  EXPECT_FALSE(runners[0].busy);
  EXPECT_TRUE(runners[1].busy);
  const auto seen = server.seen();
  EXPECT_EQ(seen[0].header("authorization"), "Bearer " + kToken);
  EXPECT_EQ(seen[0].header("x-github-api-version"), "2022-11-28");
  EXPECT_EQ(seen[0].header("accept"), "application/vnd.github+json");
  EXPECT_EQ(server.connections(), 1U);
  EXPECT_EQ(host.secret_reads(), 1);
}

TEST_F(GitHubGateway, AnyBadPageFailsTheWholeInventory) {
  const std::pair<Reply, Status> cases[] = {
      {json("{\"message\":\"boom\"}", 502), Status::bad_response},
      {json("{\"runners\":[{\"id\":1}]}"), Status::bad_response},
      {json("{\"runners\":["), Status::bad_response},
      {json(""), Status::bad_response},
      {json("\xEF\xBB\xBF{\"runners\":[]}"), Status::bad_response},
      {{200, {{"Content-Type", "text/html"}}, "<html>"}, Status::bad_response},
      {{200, {}, "{\"runners\":[]}"}, Status::bad_response},
      {{404, {{"Content-Type", "text/html"}}, "<html>"}, Status::bad_response},
      {{302, {{"Location", "/login"}}, ""}, Status::bad_response},
      {{301, {{"Location", "/api/v3/repositories/1"}, {"Content-Type", "application/json"}}, "{}"},
       Status::bad_response},
      {json("{}", 304), Status::bad_response},
      {json("{\"runners\":[]}", 200, {{"Link", "<oops"}}), Status::bad_response},
      {json("{\"runners\":[]}", 200, {{"Link", "<http://127.0.0.2/p>; rel=\"next\""}}), Status::bad_response},
      {json("{\"runners\":[]}", 200, {{"Link", "</relative>; rel=\"next\""}}), Status::bad_response},
      {{200, {{"Content-Type", "application/json"}}, "{\"runners\":[]}", Manner::drop_body},
       Status::bad_response},
      {{200, {}, "", Manner::drop}, Status::unreachable},
      {{200, {}, "HTTP/1.1 nonsense\r\n\r\n", Manner::raw}, Status::bad_response},
      {json("{\"message\":\"m\"}", 404), Status::not_found},
      {json("{\"message\":\"m\"}", 403), Status::denied},
  };
  int number = 0;
  for (const auto& [bad, status] : cases) {
    server.on(kRunners, {json("{\"runners\":[" + runner(1) + "]}", 200, {{"Link", next("/api/v3/p")}})});
    server.on("GET /api/v3/p", {bad});
    const auto error = inventory_error();
    EXPECT_EQ(error.status(), status) << "case " << number << ": " << error.what();
    EXPECT_EQ(std::string(error.what()).find(kToken), std::string::npos);
    ++number;
  }
}

TEST_F(GitHubGateway, PagesWithoutAnEndAreGivenUp) {
  server.on_any([&](const plugin_test::Seen&) {
    return json("{\"runners\":[]}", 200, {{"Link", next("/api/v3/again")}});
  });
  EXPECT_EQ(inventory_error().status(), Status::bad_response);
  EXPECT_LE(server.seen().size(), 501U);
}

TEST_F(GitHubGateway, ABadAnswerNamesItsRequest) {
  server.on(kRunners, {{502, {{"X-GitHub-Request-Id", "AB12:CD"}}, "<html>"}});
  const auto error = inventory_error();
  EXPECT_NE(std::string(error.what()).find("AB12:CD"), std::string::npos) << error.what();
  EXPECT_NE(std::string(error.what()).find("502"), std::string::npos);
}

TEST_F(GitHubGateway, AStalledBodyIsABadAnswer) {
  make(",\"stall_timeout_seconds\":3");
  server.on(kRunners,
            {{200, {{"Content-Type", "application/json"}}, "{\"runners\":[]}", Manner::stall_body}});
  EXPECT_EQ(inventory_error().status(), Status::bad_response);
}

TEST_F(GitHubGateway, AMessageThatRepeatsTheTokenIsWithheld) {
  server.on(kRunners, {json("{\"message\":\"no " + kToken + "\"}", 403)});
  const auto error = inventory_error();
  EXPECT_EQ(error.status(), Status::denied);
  EXPECT_EQ(std::string(error.what()).find(kToken), std::string::npos);
}

TEST_F(GitHubGateway, CancelReturnsAndTheGatewayGoesOn) {
  server.on(kRunners, {{200, {}, "", Manner::hold}, json("{\"runners\":[]}")});
  FakeCall waiting;
  rmgr::Error error(Status::ok, "");
  std::thread thread([&] { error = error_of([&] { gateway->inventory(waiting.call(), "octo/app"); }); });
  EXPECT_TRUE(server.wait_for(1));
  waiting.cancel();
  thread.join();
  EXPECT_EQ(error.status(), Status::cancelled);
  EXPECT_TRUE(gateway->inventory(call.call(), "octo/app").empty());
  FakeCall hurried(30ms);
  server.on(kRunners, {{200, {}, "", Manner::hold}});
  EXPECT_EQ(error_of([&] { gateway->inventory(hurried.call(), "octo/app"); }).status(), Status::deadline);
}

// --- demand

TEST_F(GitHubGateway, DemandReportsEachJobOnce) {
  server.on(runs_line("queued"), {json(runs_body({1, 2}), 200, {{"Link", next("/api/v3/runs2")}})});
  server.on("GET /api/v3/runs2", {json(runs_body({2, 3}))});
  server.on(runs_line("in_progress"), {json(runs_body({3, 4}))});
  server.on(jobs_line(1), {json(jobs_body({job(11, 1, "queued"), job(12, 1, "queued")}), 200,
                                {{"Link", next("/api/v3/jobs1b")}})});
  server.on("GET /api/v3/jobs1b", {json(jobs_body({job(12, 1, "in_progress"), job(13, 1, "completed")}))});
  server.on(jobs_line(2), {json(jobs_body({job(21, 2, "waiting")}))});
  server.on(jobs_line(3), {json(jobs_body({job(31, 3, "in_progress")}))});
  const auto demand = gateway->demand(call.call(), "octo/app");  // run 4 was deleted meanwhile: 404
  ASSERT_EQ(demand.jobs.size(), 3U);
  EXPECT_EQ(demand.jobs[0].id, 11);
  EXPECT_TRUE(demand.jobs[0].queued);
  EXPECT_EQ(demand.jobs[0].repository, "octo/app");
  EXPECT_EQ(demand.jobs[0].labels, (std::vector<std::string>{"self-hosted"}));
  EXPECT_EQ(demand.jobs[1].id, 12);
  EXPECT_FALSE(demand.jobs[1].queued);
  EXPECT_EQ(demand.jobs[2].id, 31);
  EXPECT_EQ(server.count(jobs_line(3)), 1U);
  EXPECT_FALSE(demand.unchanged);
  EXPECT_EQ(demand.quota_left_percent, -1);
}

TEST_F(GitHubGateway, DemandCostsNothingWhileNothingChanges) {
  const auto tagged = [](const std::string& etag, const std::string& body) {
    return [=](const plugin_test::Seen& seen) {
      const std::vector<std::pair<std::string, std::string>> headers{
          {"ETag", etag}, {"X-RateLimit-Limit", "5000"}, {"X-RateLimit-Remaining", "1000"}};
      if (seen.header("if-none-match") == etag) return Reply{304, headers};
      return json(body, 200, headers);
    };
  };
  std::string etag = "\"1\"";
  server.on_any([&](const plugin_test::Seen& seen) {
    if (seen.line == runs_line("queued")) return tagged("W/\"q\"", runs_body({1}))(seen);
    if (seen.line == runs_line("in_progress")) return tagged("\"p\"", runs_body({}))(seen);
    return tagged(etag, jobs_body({job(11, 1, "queued")}))(seen);
  });
  const auto first = gateway->demand(call.call(), "octo/app");
  EXPECT_FALSE(first.unchanged);
  EXPECT_EQ(first.quota_left_percent, 20);
  const auto second = gateway->demand(call.call(), "octo/app");
  EXPECT_TRUE(second.unchanged);
  ASSERT_EQ(second.jobs.size(), 1U);
  EXPECT_EQ(second.jobs[0].id, 11);
  etag = "\"2\"";
  const auto third = gateway->demand(call.call(), "octo/app");
  EXPECT_FALSE(third.unchanged);
  EXPECT_EQ(third.jobs.size(), 1U);
}

TEST_F(GitHubGateway, DemandOfAnEmptyQueueIsEmpty) {
  server.on(runs_line("queued"), {json(runs_body({}))});
  server.on(runs_line("in_progress"), {json(runs_body({}))});
  EXPECT_TRUE(gateway->demand(call.call(), "octo/app").jobs.empty());
}

TEST_F(GitHubGateway, DemandFailsAsAWhole) {
  server.on(runs_line("queued"), {json(runs_body({1, 2}))});
  server.on(runs_line("in_progress"), {json(runs_body({}))});
  server.on(jobs_line(1), {json(jobs_body({job(11, 1, "queued")}))});
  server.on(jobs_line(2), {{502, {}, "<html>"}});
  EXPECT_EQ(error_of([&] { gateway->demand(call.call(), "octo/app"); }).status(), Status::bad_response);
  server.on(runs_line("queued"), {json("{\"message\":\"Not Found\"}", 404)});
  EXPECT_EQ(error_of([&] { gateway->demand(call.call(), "octo/app"); }).status(), Status::not_found);
}

TEST_F(GitHubGateway, AnOrganizationIsReadOverItsRepositories) {
  const std::string list = "GET /api/v3/orgs/octo/repos?per_page=100";
  server.on(list, {json(R"([{"full_name":"octo/a"},{"full_name":"octo/old","archived":true}])", 200,
                        {{"Link", next("/api/v3/repos2")}})});
  server.on("GET /api/v3/repos2", {json(R"([{"full_name":"octo/b"},{"full_name":"octo/hidden"}])")});
  for (const std::string repository : {"octo/a", "octo/b"}) {
    server.on(runs_line("in_progress", repository), {json(runs_body({}))});
  }
  server.on(runs_line("queued", "octo/a"), {json(runs_body({1}))});
  server.on(runs_line("queued", "octo/b"), {json(runs_body({2}))});
  server.on(jobs_line(1, "octo/a"), {json(jobs_body({job(11, 1, "queued")}))});
  server.on(jobs_line(2, "octo/b"), {json(jobs_body({job(21, 2, "queued")}))});
  server.on(runs_line("queued", "octo/hidden"), {json("{\"message\":\"no\"}", 403)});
  for (int i = 0; i < 31; ++i) {
    const auto demand = gateway->demand(call.call(), "octo");
    ASSERT_EQ(demand.jobs.size(), 2U);
    EXPECT_EQ(demand.jobs[0].repository, "octo/a");
    EXPECT_EQ(demand.jobs[1].repository, "octo/b");
  }
  EXPECT_EQ(server.count(list), 2U);
  EXPECT_EQ(server.count(runs_line("queued", "octo/hidden")), 2U);
  EXPECT_EQ(server.count(runs_line("queued", "octo/old")), 0U);
}

TEST_F(GitHubGateway, AnOrganizationWhoseRepositoriesAreAllHiddenIsDenied) {
  server.on("GET /api/v3/orgs/octo/repos?per_page=100", {json(R"([{"full_name":"octo/a"}])")});
  EXPECT_EQ(error_of([&] { gateway->demand(call.call(), "octo"); }).status(), Status::denied);
}

// --- registration

TEST_F(GitHubGateway, RegistersForARepositoryAndAnOrganization) {
  const auto good = json(R"({"runner":{"id":5,"name":"r1"},"encoded_jit_config":"YWJj"})", 201);
  server.on(kJit, {good});
  const auto registration = register_runner();
  EXPECT_EQ(registration.runner_id, 5);
  EXPECT_EQ(registration.jit_config.view().reveal(), "YWJj");
  EXPECT_EQ(server.seen()[0].body,
            R"({"labels":["self-hosted","linux"],"name":"r1","runner_group_id":3,"work_folder":"_work"})");
  EXPECT_EQ(server.seen()[0].header("content-type"), "application/json");
  server.on("POST /api/v3/orgs/octo/actions/runners/generate-jitconfig", {good});
  EXPECT_EQ(register_runner("octo").runner_id, 5);
}

TEST_F(GitHubGateway, EachRefusalOfARegistrationHasItsStatus) {
  const std::pair<Reply, Status> cases[] = {
      {json(R"({"message":"Already exists"})", 409), Status::exists},
      {json(R"({"message":"Validation Failed","errors":["A runner with the name already exists."]})", 422),
       Status::exists},
      {json(R"({"message":"Invalid runner group"})", 422), Status::invalid},
      {json(R"({"message":"Not Found"})", 404), Status::not_found},
      {json(R"({"message":"Resource not accessible"})", 403), Status::denied},
      {json(R"({"runner":{"id":5,"name":"r1"},"encoded_jit_config":"YWJj"})", 200), Status::bad_response},
      {json(R"({"runner":{"id":5,"name":"other"},"encoded_jit_config":"YWJj"})", 201), Status::bad_response},
      {json(R"({"runner":{"id":5,"name":"r1"}})", 201), Status::bad_response},
      {json("", 201), Status::bad_response},
      {{201, {{"Content-Type", "text/html"}}, "<html>"}, Status::bad_response},
      {{502, {}, ""}, Status::bad_response},
      {{201, {}, "", Manner::drop}, Status::unreachable},
  };
  int number = 0;
  for (const auto& [reply, status] : cases) {
    server.on(kJit, {reply});
    const auto before = server.count(kJit);
    const auto error = register_error();
    EXPECT_EQ(error.status(), status) << "case " << number << ": " << error.what();
    EXPECT_EQ(server.count(kJit), before + 1) << "case " << number;
    ++number;
  }
}

TEST_F(GitHubGateway, RefusesWhatTheServerWouldRefuse) {
  const auto error = [&](const std::string& target, const std::string& name,
                         std::vector<std::string_view> labels) {
    rmgr::RegistrationRequest request;
    request.target = target;
    request.name = name;
    request.labels = std::move(labels);
    return error_of([&] { gateway->register_runner(call.call(), request); }).status();
  };
  EXPECT_EQ(error("octo/app", "", {"a"}), Status::invalid);
  EXPECT_EQ(error("octo/app", std::string(65, 'a'), {"a"}), Status::invalid);
  EXPECT_EQ(error("octo/app", "r1", {}), Status::invalid);
  EXPECT_EQ(error("octo/app", "r1", std::vector<std::string_view>(101, "a")), Status::invalid);
  EXPECT_EQ(error("octo/app/x", "r1", {"a"}), Status::invalid);
  EXPECT_EQ(error("octo/app", "r\xff", {"a"}), Status::invalid);
  EXPECT_TRUE(server.seen().empty());
}

TEST_F(GitHubGateway, DeregistersOrSaysWhyNot) {
  const std::pair<Reply, Status> cases[] = {
      {{204}, Status::ok},
      {json(R"({"message":"Not Found"})", 404), Status::ok},
      {{404, {{"Content-Type", "text/html"}}, "<html>"}, Status::bad_response},
      {json(R"({"message":"Runner \"r\" is currently running a job and cannot be deleted."})", 422),
       Status::busy},
      {json(R"({"message":"Other"})", 422), Status::invalid},
      {json(R"({"message":"Other"})", 403), Status::denied},
      {json("{}", 200), Status::bad_response},
      {json("{}", 409), Status::bad_response},
      {{502}, Status::bad_response},
      {{204, {}, "", Manner::drop}, Status::unreachable},
  };
  int number = 0;
  for (const auto& [reply, status] : cases) {
    server.on(kDelete, {reply});
    const auto error = deregister_error();
    EXPECT_EQ(error.status(), status) << "case " << number << ": " << error.what();
    ++number;
  }
}

// --- the credential and its pace

TEST_F(GitHubGateway, ARotatedTokenIsReadAgainOnce) {
  server.on(kRunners, {rejected(), json("{\"runners\":[]}")});
  server.on_any([&](const plugin_test::Seen&) {
    host.set_secret("env:T", "ghp_rotated");
    return Reply{0};
  });
  EXPECT_TRUE(gateway->inventory(call.call(), "octo/app").empty());
  const auto seen = server.seen();
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[1].header("authorization"), "Bearer ghp_rotated");
}

TEST_F(GitHubGateway, ARegistrationIsTriedAgainAfterARotation) {
  server.on(kJit, {rejected(), json(R"({"runner":{"id":5,"name":"r1"},"encoded_jit_config":"YWJj"})", 201)});
  EXPECT_EQ(register_runner().runner_id, 5);
  EXPECT_EQ(host.secret_reads(), 2);
}

TEST_F(GitHubGateway, ManyRejectionsAtOnceAreOneRotation) {
  server.on_any([&](const plugin_test::Seen& seen) {
    if (seen.header("authorization") != "Bearer ghp_rotated") {
      host.set_secret("env:T", "ghp_rotated");
      return rejected();
    }
    return Reply{0};
  });
  server.on(runs_line("queued"), {json(runs_body({}))});
  server.on(runs_line("in_progress"), {json(runs_body({}))});
  EXPECT_TRUE(gateway->demand(call.call(), "octo/app").jobs.empty());
  EXPECT_EQ(host.secret_reads(), 2);
}

TEST_F(GitHubGateway, ARejectedTokenIsLeftAloneForLongerEachTime) {
  server.on(kRunners, {rejected()});
  for (const int quiet : {30, 60, 120}) {
    const auto before = server.count(kRunners);
    auto error = inventory_error();
    EXPECT_EQ(error.status(), Status::unauthorized);
    EXPECT_EQ(error.retry_after(), std::chrono::seconds{quiet});
    EXPECT_EQ(server.count(kRunners), before + 2);  // one revalidation, one retry
    host.advance(10s);
    error = deregister_error();
    EXPECT_EQ(error.status(), Status::unauthorized);
    EXPECT_EQ(error.retry_after(), std::chrono::seconds{quiet - 10});
    EXPECT_EQ(server.count(kRunners), before + 2);
    EXPECT_EQ(server.count(kDelete), 0U);
    host.advance(std::chrono::seconds{quiet - 10});
  }
  // Another token need not wait.
  server.on(kRunners, {rejected(), rejected(), json("{\"runners\":[]}")});
  EXPECT_EQ(inventory_error().status(), Status::unauthorized);
  host.set_secret("env:T", "ghp_other");
  EXPECT_TRUE(gateway->inventory(call.call(), "octo/app").empty());
}

TEST_F(GitHubGateway, ARateLimitHoldsEveryTargetAndOperation) {
  server.on(kRunners,
            {json("{\"message\":\"slow down\"}", 429, {{"Retry-After", "40"}}), json("{\"runners\":[]}")});
  auto error = inventory_error();
  EXPECT_EQ(error.status(), Status::retry);
  EXPECT_EQ(error.retry_after(), 40s);
  host.advance(15s);
  error = deregister_error();
  EXPECT_EQ(error.status(), Status::retry);
  EXPECT_EQ(error.retry_after(), 25s);
  EXPECT_EQ(error_of([&] { gateway->demand(call.call(), "other/app"); }).status(), Status::retry);
  EXPECT_EQ(server.seen().size(), 1U);
  host.advance(25s);
  EXPECT_TRUE(gateway->inventory(call.call(), "octo/app").empty());
}

TEST_F(GitHubGateway, AnEndlessRateLimitIsCapped) {
  server.on(kRunners, {json("{}", 403, {{"Retry-After", "999999"}})});
  EXPECT_EQ(inventory_error().retry_after(), 15min);
}

TEST_F(GitHubGateway, ASecretThatCannotBeReadSaysNothingAboutTheTarget) {
  gateway =
      std::make_unique<Gateway>(host.host(), "{\"token\":\"env:NONE\",\"url\":\"" + server.url() + "\"}");
  EXPECT_EQ(deregister_error().status(), Status::unauthorized);
  EXPECT_EQ(register_error().status(), Status::unauthorized);
  EXPECT_TRUE(server.seen().empty());
}

TEST_F(GitHubGateway, CallsMayOverlap) {
  server.on_any([&](const plugin_test::Seen& seen) {
    if (seen.line == kDelete) return Reply{204};
    return json("{\"runners\":[" + runner(1) + "]}", 200, {{"ETag", "\"x\""}});
  });
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        FakeCall mine;
        const auto error = error_of([&] {
          if (t % 2 == 0) {
            if (gateway->inventory(mine.call(), "octo/app").size() != 1)
              throw rmgr::Error(Status::internal, "lost");
          } else {
            gateway->deregister(mine.call(), "octo/app", 7);
          }
        });
        good += error.status() == Status::ok ? 1 : 0;
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(good.load(), 60);
}

TEST_F(GitHubGateway, TheTokenIsInNoLogAndNoMessage) {
  server.on_any([](const plugin_test::Seen&) { return json("{\"message\":\"no\"}", 403); });
  for (const auto& error : {inventory_error(), register_error(), deregister_error()}) {
    EXPECT_EQ(std::string(error.what()).find(kToken), std::string::npos);
  }
  for (const auto& line : host.log())
    EXPECT_EQ(line.find(kToken), std::string::npos);
}

}  // namespace
}  // namespace plugins::github
