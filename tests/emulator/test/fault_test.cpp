// Every kind of scripted misbehaviour, seen from the caller's side.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "test/support.hpp"
#include "wire/text.hpp"

namespace emulator::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kRunners = "/repos/o/r/actions/runners";
constexpr const char* kJit = "/repos/o/r/actions/runners/generate-jitconfig";

class Faulty : public ::testing::Test {
 protected:
  ApiReply list() { return emulator->api("GET", kRunners); }
  ApiReply ask_jit(const std::string& name) {
    const json body{{"name", name}, {"runner_group_id", 1}, {"labels", {"linux"}}};
    return emulator->api("POST", kJit, body.dump());
  }
  EmulatorProcess emulator{one_repository()};
};

TEST_F(Faulty, a_status_is_answered_as_often_as_told_and_without_effect) {
  emulator->add_fault({.action = "status",
                       .method = "POST",
                       .path = "*/generate-jitconfig",
                       .skip = 1,
                       .count = 2,
                       .status = 502,
                       .retry_after = 7});
  EXPECT_EQ(ask_jit("a").status, 201);
  const auto failed = ask_jit("b");
  EXPECT_EQ(failed.status, 502);
  EXPECT_EQ(failed.headers.at("retry-after"), "7");
  EXPECT_EQ(ask_jit("b").status, 502);
  EXPECT_EQ(list().status, 200);
  EXPECT_EQ(ask_jit("b").status, 201);
  EXPECT_EQ(emulator->summary().registered_total, 2);
}

TEST_F(Faulty, a_fault_without_end_lasts_until_it_is_removed) {
  const auto id = emulator->add_fault({.action = "status", .path = kRunners, .count = -1, .status = 503});
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(list().status, 503);
  emulator->remove_fault(id);
  EXPECT_EQ(list().status, 200);
}

TEST_F(Faulty, a_delayed_answer_does_not_hold_up_others) {
  emulator->add_fault({.action = "delay", .path = kRunners, .delay_ms = 2'000});
  ApiReply late;
  std::int64_t late_at = 0;
  std::thread caller([&] {
    late = EmulatorClient(emulator.url(), emulator.token()).api("GET", kRunners);
    late_at = wall_clock_ms();
  });
  const auto before = wall_clock_ms();
  // The fault is spent as soon as the other caller's request has come, long before its answer.
  while (emulator->call("GET", "/_control/faults").body.find("\"hits\":1") == std::string::npos &&
         wall_clock_ms() - before < 10'000) {
  }
  EXPECT_EQ(emulator->api("GET", kRunners).status, 200);
  caller.join();
  EXPECT_EQ(late.status, 200);
  EXPECT_GE(late_at - before, 1'900);
  const auto logged = emulator->requests("GET", kRunners);
  ASSERT_EQ(logged.size(), 2U);
  EXPECT_EQ(logged.front().fault, "");  // the later request was answered first
  EXPECT_EQ(logged.back().fault, "delay");
}

TEST_F(Faulty, html_instead_of_json) {
  emulator->add_fault({.action = "html", .path = kRunners});
  const auto reply = list();
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.headers.at("content-type"), HasSubstr("text/html"));
  EXPECT_THAT(reply.body, HasSubstr("<html>"));
}

TEST_F(Faulty, an_empty_body) {
  emulator->add_fault({.action = "empty", .path = kRunners});
  const auto reply = list();
  EXPECT_EQ(reply.status, 200);
  EXPECT_TRUE(reply.body.empty());
}

TEST_F(Faulty, json_that_ends_in_the_middle) {
  emulator->add_fault({.action = "truncate", .path = kRunners});
  const auto reply = list();
  EXPECT_EQ(reply.status, 200);
  EXPECT_TRUE(json::parse(reply.body, nullptr, false).is_discarded());
}

TEST_F(Faulty, a_byte_order_mark_and_another_content_type) {
  emulator->add_fault({.action = "bom", .path = kRunners, .content_type = "text/plain"});
  const auto reply = list();
  EXPECT_TRUE(reply.body.starts_with("\xEF\xBB\xBF{"));
  EXPECT_EQ(reply.headers.at("content-type"), "text/plain");
}

TEST_F(Faulty, a_body_that_breaks_off) {
  emulator->add_fault({.action = "cut", .path = kRunners});
  EXPECT_EQ(list().status, 0);
  EXPECT_EQ(list().status, 200);
}

TEST_F(Faulty, a_body_that_trickles) {
  emulator->add_fault({.action = "slow", .path = kRunners, .for_ms = 200});
  const auto before = wall_clock_ms();
  const auto reply = list();
  EXPECT_GE(wall_clock_ms() - before, 150);
  EXPECT_EQ(json::parse(reply.body).at("total_count"), 0);
}

TEST_F(Faulty, a_dropped_request_has_no_effect) {
  emulator->add_fault({.action = "drop", .method = "POST", .path = "*/generate-jitconfig"});
  EXPECT_EQ(ask_jit("a").status, 0);
  EXPECT_EQ(emulator->summary().registered_total, 0);
  EXPECT_EQ(ask_jit("a").status, 201);
}

TEST_F(Faulty, a_lost_answer_has_its_effect) {
  emulator->add_fault({.action = "execute_then_drop", .method = "POST", .path = "*/generate-jitconfig"});
  EXPECT_EQ(ask_jit("a").status, 0);
  EXPECT_EQ(emulator->summary().registered_total, 1);
  EXPECT_EQ(ask_jit("a").status, 409);
  const auto asked = emulator->requests("POST");
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_EQ(asked.front().status, 0);
  EXPECT_EQ(asked.front().fault, "execute_then_drop");
}

TEST_F(Faulty, a_lost_answer_to_a_removal) {
  const auto made = emulator->register_runner("o/r", "a", {"linux"});
  emulator->add_fault({.action = "execute_then_drop", .method = "DELETE"});
  const std::string path = std::string(kRunners) + "/" + std::to_string(made.id);
  EXPECT_EQ(emulator->api("DELETE", path).status, 0);
  EXPECT_EQ(emulator->api("DELETE", path).status, 404);
}

TEST_F(Faulty, an_effect_behind_an_error_when_told_so) {
  emulator->add_fault({.action = "html", .path = "*/generate-jitconfig", .status = 502, .execute = true});
  EXPECT_EQ(ask_jit("a").status, 502);
  EXPECT_EQ(emulator->summary().registered_total, 1);
}

TEST_F(Faulty, primary_and_secondary_limits) {
  emulator->add_fault({.action = "rate_limit", .path = kRunners, .for_ms = 60'000});
  const auto primary = list();
  EXPECT_EQ(primary.status, 403);
  EXPECT_EQ(primary.headers.at("x-ratelimit-remaining"), "0");
  EXPECT_GE(std::stoll(primary.headers.at("x-ratelimit-reset")), wall_clock_ms() / 1000 + 50);
  emulator->add_fault({.action = "secondary_limit", .path = kRunners, .status = 429, .retry_after = 3});
  const auto secondary = list();
  EXPECT_EQ(secondary.status, 429);
  EXPECT_EQ(secondary.headers.at("retry-after"), "3");
  EXPECT_THAT(secondary.body, HasSubstr("secondary rate limit"));
}

TEST_F(Faulty, a_stale_listing_shows_the_past) {
  const auto made = emulator->register_runner("o/r", "a", {"linux"});
  emulator->queue({.repository = "o/r", .labels = {"linux"}});
  emulator->add_fault({.action = "stale", .method = "GET", .count = 2, .as_of_ms = 3'600'000});
  EXPECT_EQ(json::parse(list().body).at("total_count"), 0);
  const auto runs = emulator->api("GET", "/repos/o/r/actions/runs?status=queued");
  EXPECT_EQ(json::parse(runs.body).at("total_count"), 0);
  EXPECT_EQ(json::parse(list().body).at("total_count"), 1);
  EXPECT_EQ(emulator->api("DELETE", std::string(kRunners) + "/" + std::to_string(made.id)).status, 204);
}

TEST_F(Faulty, a_download_that_breaks_off_can_be_resumed) {
  const std::string target = "/_download/actions-runner-linux-x64-2.330.0.tar.gz";
  emulator->add_fault({.action = "cut", .path = "/_download/*"});
  EXPECT_EQ(emulator->call("GET", target).status, 0);
  EXPECT_EQ(emulator->call("GET", target, "", {{"Range", "bytes=10-"}}).status, 206);
}

TEST_F(Faulty, an_unknown_action_is_refused) {
  EXPECT_THROW(emulator->add_fault({.action = "explode"}), std::runtime_error);
  EXPECT_THROW(emulator->queue({.repository = "no/where", .labels = {"x"}}), std::runtime_error);
}

}  // namespace
}  // namespace emulator::testing
