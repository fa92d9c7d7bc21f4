// The REST API as a manager of runners sees it, over real HTTP.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "test/support.hpp"
#include "wire/text.hpp"

namespace emulator::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kRunners = "/repos/o/r/actions/runners";
constexpr const char* kJit = "/repos/o/r/actions/runners/generate-jitconfig";

json body_of(const ApiReply& reply) { return json::parse(reply.body); }

json jit_body(const std::string& name) {
  return {{"name", name}, {"runner_group_id", 1}, {"labels", {"linux"}}, {"work_folder", "_work"}};
}

std::string next_link(const ApiReply& reply) {
  const auto at = reply.headers.find("link");
  if (at == reply.headers.end()) return {};
  const auto relation = at->second.find("; rel=\"next\"");
  if (relation == std::string::npos) return {};
  const auto from = at->second.rfind('<', relation) + 1;
  const std::string url = at->second.substr(from, relation - 1 - from);
  return url.substr(url.find("/api/v3") + 7);
}

class Rest : public ::testing::Test {
 protected:
  EmulatorProcess emulator{one_repository()};
};

TEST_F(Rest, refuses_a_caller_without_the_token) {
  EXPECT_EQ(emulator->call("GET", std::string("/api/v3") + kRunners).status, 401);
  const auto wrong =
      emulator->call("GET", std::string("/api/v3") + kRunners, "", {{"Authorization", "Bearer no"}});
  EXPECT_EQ(wrong.status, 401);
  EXPECT_EQ(emulator->call("GET", kRunners, "", {{"Authorization", "token " + emulator.token()}}).status,
            200);
}

TEST_F(Rest, answers_with_and_without_the_enterprise_prefix) {
  const std::map<std::string, std::string> bearer{{"Authorization", "Bearer " + emulator.token()}};
  EXPECT_EQ(emulator->call("GET", kRunners, "", bearer).body,
            emulator->call("GET", std::string("/api/v3") + kRunners, "", bearer).body);
}

TEST_F(Rest, lists_a_registration_offline_from_the_request_on) {
  const auto made = emulator->api("POST", kJit, jit_body("one").dump());
  ASSERT_EQ(made.status, 201);
  const json runner = body_of(made).at("runner");
  EXPECT_EQ(runner.at("status"), "offline");
  EXPECT_EQ(runner.at("busy"), false);
  const auto listed = body_of(emulator->api("GET", kRunners));
  ASSERT_EQ(listed.at("total_count"), 1);
  EXPECT_EQ(listed.at("runners").at(0).at("name"), "one");
  EXPECT_EQ(listed.at("runners").at(0).at("status"), "offline");
  const std::string one = std::string(kRunners) + "/" + std::to_string(runner.at("id").get<int>());
  EXPECT_EQ(body_of(emulator->api("GET", one)).at("name"), "one");
}

TEST_F(Rest, hands_out_a_configuration_of_three_files) {
  const auto made = body_of(emulator->api("POST", kJit, jit_body("one").dump()));
  const auto text = base64_decode(made.at("encoded_jit_config").get<std::string>());
  ASSERT_TRUE(text.has_value());
  const json files = json::parse(*text);
  EXPECT_EQ(files.size(), 3U);
  const json settings = json::parse(base64_decode(files.at(".runner").get<std::string>()).value());
  EXPECT_EQ(settings.at("agentName"), "one");
  EXPECT_EQ(settings.at("serverUrl"), emulator.url());
  EXPECT_EQ(settings.at("ephemeral"), true);
  const json credentials = json::parse(base64_decode(files.at(".credentials").get<std::string>()).value());
  EXPECT_GE(credentials.at("data").at("token").get<std::string>().size(), 32U);
  EXPECT_TRUE(files.contains(".credentials_rsaparams"));
}

struct BadRequest {
  const char* what;
  json change;
  int status;
};

TEST_F(Rest, checks_a_registration_request) {
  const auto with = [](const char* field, const json& value) {
    json body = jit_body("bad");
    body[field] = value;
    return body;
  };
  const auto without = [](const char* field) {
    json body = jit_body("bad");
    body.erase(field);
    return body;
  };
  const std::vector<BadRequest> table{
      {"no name", without("name"), 422},
      {"no group", without("runner_group_id"), 422},
      {"no labels", without("labels"), 422},
      {"empty labels", with("labels", json::array()), 422},
      {"101 labels", with("labels", std::vector<std::string>(101, "x")), 422},
      {"a label that is a number", with("labels", {1}), 422},
      {"a name of 65 characters", with("name", std::string(65, 'n')), 422},
      {"an empty name", with("name", ""), 422},
      {"an unknown group", with("runner_group_id", 7), 404},
      {"not an object", json::array(), 400},
  };
  for (const auto& row : table) {
    EXPECT_EQ(emulator->api("POST", kJit, row.change.dump()).status, row.status) << row.what;
  }
  EXPECT_EQ(emulator->api("POST", kJit, with("labels", std::vector<std::string>(100, "x")).dump()).status,
            201);
  EXPECT_EQ(emulator->api("POST", kJit, with("name", std::string(64, 'n')).dump()).status, 201);
  EXPECT_EQ(
      emulator->api("POST", "/repos/o/none/actions/runners/generate-jitconfig", jit_body("x").dump()).status,
      404);
}

TEST_F(Rest, refuses_a_taken_name_until_it_is_free_again) {
  const auto first = emulator->register_runner("o/r", "same", {"linux"});
  const auto second = emulator->api("POST", kJit, jit_body("same").dump());
  EXPECT_EQ(second.status, 409);
  EXPECT_THAT(second.body, HasSubstr("already exists"));
  const std::string path = std::string(kRunners) + "/" + std::to_string(first.id);
  EXPECT_EQ(emulator->api("DELETE", path).status, 204);
  EXPECT_EQ(emulator->api("DELETE", path).status, 404);
  EXPECT_EQ(emulator->api("POST", kJit, jit_body("same").dump()).status, 201);
  EXPECT_EQ(emulator->runner(first.id).removed_by, "api");
}

TEST_F(Rest, pages_the_runners_with_links_to_follow) {
  std::set<std::string> expected;
  for (int i = 0; i < 205; ++i) {
    expected.insert("n" + std::to_string(i));
    emulator->register_runner("o/r", "n" + std::to_string(i), {"linux"});
  }
  EXPECT_EQ(body_of(emulator->api("GET", kRunners)).at("runners").size(), 30U);
  std::set<std::string> seen;
  int pages = 0;
  for (std::string path = std::string(kRunners) + "?per_page=100"; !path.empty(); ++pages) {
    const auto reply = emulator->api("GET", path);
    ASSERT_EQ(reply.status, 200);
    const json body = body_of(reply);
    EXPECT_EQ(body.at("total_count"), 205);
    for (const auto& runner : body.at("runners"))
      seen.insert(runner.at("name").get<std::string>());
    path = next_link(reply);
    ASSERT_LT(pages, 5);
  }
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(seen, expected);
  EXPECT_TRUE(
      body_of(emulator->api("GET", std::string(kRunners) + "?per_page=100&page=4")).at("runners").empty());
}

TEST_F(Rest, shows_queued_jobs_of_queued_and_running_runs) {
  const auto ids = emulator->queue({.repository = "o/r", .labels = {"linux", "big"}, .count = 8});
  const auto runs = body_of(emulator->api("GET", "/repos/o/r/actions/runs?status=queued&per_page=100"));
  ASSERT_EQ(runs.at("total_count"), 1);
  const auto run = runs.at("workflow_runs").at(0);
  EXPECT_EQ(run.at("status"), "queued");
  EXPECT_TRUE(run.at("conclusion").is_null());
  const std::string path =
      "/repos/o/r/actions/runs/" + std::to_string(run.at("id").get<std::int64_t>()) + "/jobs";
  const auto jobs = body_of(emulator->api("GET", path + "?filter=latest&per_page=100"));
  ASSERT_EQ(jobs.at("total_count"), 8);
  const auto job = jobs.at("jobs").at(0);
  EXPECT_EQ(job.at("id"), ids.front());
  EXPECT_EQ(job.at("status"), "queued");
  EXPECT_EQ(job.at("labels"), (json{"linux", "big"}));
  EXPECT_TRUE(job.at("runner_id").is_null());
  EXPECT_TRUE(job.at("runner_name").is_null());
  EXPECT_TRUE(job.at("runner_group_id").is_null());
  EXPECT_EQ(body_of(emulator->api("GET", "/repos/o/r/actions/runs?status=in_progress")).at("total_count"), 0);

  emulator->cancel(ids.front());
  EXPECT_EQ(body_of(emulator->api("GET", "/repos/o/r/actions/runs?status=queued")).at("total_count"), 0);
  EXPECT_EQ(body_of(emulator->api("GET", "/repos/o/r/actions/runs?status=in_progress")).at("total_count"), 1);
  for (std::size_t i = 1; i < ids.size(); ++i)
    emulator->cancel(ids[i]);
  EXPECT_EQ(body_of(emulator->api("GET", "/repos/o/r/actions/runs?status=in_progress")).at("total_count"), 0);
  const auto completed = body_of(emulator->api("GET", "/repos/o/r/actions/runs?status=completed"));
  ASSERT_EQ(completed.at("total_count"), 1);
  EXPECT_EQ(completed.at("workflow_runs").at(0).at("conclusion"), "cancelled");
}

TEST_F(Rest, shows_the_latest_attempt_of_a_rerun_only_when_asked_so) {
  const auto first = emulator->queue({.repository = "o/r", .labels = {"linux"}});
  emulator->cancel(first.front());
  const auto second = emulator->rerun(first.front());
  ASSERT_EQ(second.size(), 1U);
  const auto run = emulator->job(first.front()).run_id;
  const std::string path = "/repos/o/r/actions/runs/" + std::to_string(run) + "/jobs";
  const auto latest = body_of(emulator->api("GET", path + "?filter=latest"));
  ASSERT_EQ(latest.at("total_count"), 1);
  EXPECT_EQ(latest.at("jobs").at(0).at("run_attempt"), 2);
  EXPECT_EQ(body_of(emulator->api("GET", path + "?filter=all")).at("total_count"), 2);
  EXPECT_EQ(body_of(emulator->api("GET", "/repos/o/r/actions/runs?status=queued")).at("total_count"), 1);
}

TEST_F(Rest, keeps_a_waiting_job_out_of_the_queue_until_it_is_released) {
  const auto ids = emulator->queue({.repository = "o/r", .labels = {"linux"}, .waiting = true});
  EXPECT_EQ(body_of(emulator->api("GET", "/repos/o/r/actions/runs?status=queued")).at("total_count"), 0);
  emulator->release(ids.front());
  EXPECT_EQ(body_of(emulator->api("GET", "/repos/o/r/actions/runs?status=queued")).at("total_count"), 1);
}

TEST_F(Rest, an_unchanged_listing_costs_nothing) {
  const auto first = emulator->api("GET", kRunners);
  const auto again = emulator->api("GET", kRunners, "", {{"If-None-Match", first.headers.at("etag")}});
  EXPECT_EQ(again.status, 304);
  EXPECT_TRUE(again.body.empty());
  EXPECT_EQ(again.headers.at("x-ratelimit-remaining"), first.headers.at("x-ratelimit-remaining"));
  emulator->register_runner("o/r", "new", {"linux"});
  const auto changed = emulator->api("GET", kRunners, "", {{"If-None-Match", first.headers.at("etag")}});
  EXPECT_EQ(changed.status, 200);
  EXPECT_NE(changed.headers.at("etag"), first.headers.at("etag"));
  EXPECT_FALSE(changed.headers.at("x-github-request-id").empty());
}

TEST_F(Rest, an_exhausted_quota_refuses_everything_but_unchanged_listings_do_not_exhaust_it) {
  emulator->change_settings({.rate_limit = 10, .rate_remaining = 1});
  EXPECT_EQ(emulator->api("GET", kRunners).status, 200);
  const auto refused = emulator->api("GET", kRunners);
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.headers.at("x-ratelimit-remaining"), "0");
  EXPECT_EQ(body_of(emulator->api("GET", "/rate_limit")).at("rate").at("limit"), 10);
}

TEST_F(Rest, an_organization_has_its_repositories) {
  emulator->add_repository("o/other");
  emulator->add_repository("elsewhere/r");
  const auto repositories = body_of(emulator->api("GET", "/orgs/o/repos"));
  ASSERT_EQ(repositories.size(), 2U);
  EXPECT_EQ(repositories.at(0).at("full_name"), "o/other");
  EXPECT_EQ(body_of(emulator->api("GET", "/installation/repositories")).at("total_count"), 3);
  const auto made = emulator->register_runner("o", "org-runner", {"linux"});
  EXPECT_EQ(body_of(emulator->api("GET", "/orgs/o/actions/runners")).at("total_count"), 1);
  EXPECT_EQ(body_of(emulator->api("GET", kRunners)).at("total_count"), 0);
  EXPECT_EQ(emulator->api("DELETE", std::string(kRunners) + "/" + std::to_string(made.id)).status, 404);
  EXPECT_EQ(emulator->api("DELETE", "/orgs/o/actions/runners/" + std::to_string(made.id)).status, 204);
  EXPECT_EQ(emulator->api("GET", "/orgs/nobody/actions/runners").status, 404);
}

TEST_F(Rest, offers_the_package_with_its_digest) {
  const auto rows = body_of(emulator->api("GET", "/repos/o/r/actions/runners/downloads"));
  json mine;
  for (const auto& row : rows) {
    if (row.at("os") == "linux" && row.at("architecture") == "x64") mine = row;
  }
  EXPECT_GE(rows.size(), 5U);
  ASSERT_TRUE(mine.is_object());
  const std::string published = read_file(built_runner_package() + ".sha256").substr(0, 64);
  EXPECT_EQ(mine.at("sha256_checksum"), published);
  const std::string url = mine.at("download_url").get<std::string>();
  const std::string target = url.substr(emulator.url().size());
  const std::string package = read_file(built_runner_package());
  EXPECT_EQ(emulator->call("GET", target).body, package);
  const auto rest = emulator->call("GET", target, "", {{"Range", "bytes=1000-"}});
  EXPECT_EQ(rest.status, 206);
  EXPECT_EQ(rest.body, package.substr(1000));
  EXPECT_EQ(emulator->call("GET", target, "", {{"Range", "bytes=1000-"}, {"If-Range", "\"other\""}}).status,
            200);
  EXPECT_EQ(emulator->call("GET", "/_download/actions-runner-osx-x64-2.330.0.tar.gz").status, 404);
}

TEST_F(Rest, publishes_a_spoilt_digest_when_told) {
  const auto checksum = [&]() -> json {
    for (const auto& row : body_of(emulator->api("GET", "/repos/o/r/actions/runners/downloads"))) {
      if (row.at("os") == "linux" && row.at("architecture") == "x64")
        return row.value("sha256_checksum", json());
    }
    return "no row";
  };
  emulator->offer_package(built_runner_package(), "absent");
  EXPECT_TRUE(checksum().is_null());
  emulator->offer_package(built_runner_package(), "nonsense");
  EXPECT_EQ(checksum(), "nonsense");
  emulator->withdraw_packages();
  EXPECT_EQ(checksum(), "no row");
}

TEST_F(Rest, remembers_what_was_asked_but_no_credential) {
  emulator->api("GET", std::string(kRunners) + "?per_page=100");
  const auto asked = emulator->requests("GET", kRunners);
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked.front().query, "per_page=100");
  EXPECT_EQ(asked.front().status, 200);
  EXPECT_THAT(emulator->call("GET", "/_control/requests").body, ::testing::Not(HasSubstr(emulator.token())));
  emulator->clear_requests();
  EXPECT_TRUE(emulator->requests().empty());
}

TEST(Emulator, listens_on_loopback_only) {
  EXPECT_EQ(run_program({EMULATOR_BIN_DIR "/github-emulator", "--bind", "0.0.0.0"}), 2);
}

TEST(Emulator, stops_when_its_input_ends_and_when_told) {
  EmulatorProcess first;
  EXPECT_EQ(first.stop(), 0);
  EXPECT_FALSE(first.stop().has_value());
  EmulatorProcess second;
  EXPECT_EQ(second->call("POST", "/_control/stop").status, 200);
  EXPECT_EQ(second.stop(), 0);
}

}  // namespace
}  // namespace emulator::testing
