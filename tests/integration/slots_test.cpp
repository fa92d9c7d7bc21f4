// Persistent workspaces with the real daemon, real processes and real files.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "stage.hpp"

namespace integration {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

void persistent(testkit::AgentSetup& setup) {
  setup.policies.front().workspace = "persistent";
  setup.policies.front().max = 2;
  setup.policies.front().timeouts = {{"jit_handoff", "5s"}};
}

std::vector<std::string> entries(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

std::string content(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// What status says of the first policy.
json policy_of(Stage& stage) {
  const json document = json::parse(stage.agent().status_json(), nullptr, false);
  return document.is_object() && !document["policies"].empty() ? document["policies"][0] : json::object();
}

const std::vector<std::string> kOnlyWork{"_work"};

TEST(PersistentSlot, serves_one_job_after_another_and_keeps_its_work_alone) {
  Stage stage(1, persistent);
  ASSERT_TRUE(stage.agent().start());
  const std::string root = stage.path("runtimes/demo");
  for (int job = 1; job <= 3; ++job) {
    stage.queue(1, "cd ${PWD%%/_work/*} && echo job >> _work/kept && touch beside");
    ASSERT_TRUE(stage.settles(job));
    EXPECT_EQ(entries(root + "/s1"), kOnlyWork) << "after job " << job;
  }
  EXPECT_EQ(stage.github()->summary().failed, 0);
  EXPECT_EQ(content(root + "/s1/_work/kept"), "job\njob\njob\n");
  EXPECT_EQ(entries(root), (std::vector<std::string>{".runner-manager-owner", "s1"}));
  EXPECT_EQ(stage.agent().terminate(), 0);
}

TEST(PersistentSlot, is_cleaned_after_the_daemon_was_killed_beside_a_job) {
  Stage stage(1, persistent);
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, Stage::wait_for(stage.path("runtimes/go")));
  ASSERT_TRUE(eventually([&] { return stage.github()->summary().in_progress == 1; }));
  stage.agent().kill_hard();
  std::ofstream(stage.path("runtimes/go")).close();
  ASSERT_TRUE(eventually([&] { return stage.github()->summary().completed == 1; }));
  EXPECT_TRUE(fs::exists(stage.path("runtimes/demo/s1/bin")));
  ASSERT_TRUE(stage.agent().start());
  ASSERT_TRUE(stage.settles(1));
  EXPECT_EQ(entries(stage.path("runtimes/demo/s1")), kOnlyWork);
  stage.queue(1, "true");
  ASSERT_TRUE(stage.settles(2));
  EXPECT_EQ(entries(stage.path("runtimes/demo")), (std::vector<std::string>{".runner-manager-owner", "s1"}));
}

TEST(PersistentSlot, survives_kills_at_any_moment_and_no_two_jobs_share_one) {
  Stage stage(2, persistent);
  ASSERT_TRUE(stage.agent().start());
  stage.queue(6, "cd ${PWD%%/_work/*} && mkdir alone && sleep 0.3 && rmdir alone");
  for (const int pause_ms : {200, 900, 400}) {
    std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
    stage.agent().kill_hard();
    ASSERT_TRUE(stage.agent().start());
  }
  ASSERT_TRUE(stage.settles(6, std::chrono::seconds(200)));
  for (const auto& job : stage.github()->jobs())
    EXPECT_EQ(job.starts, 1);
  for (const auto& name : entries(stage.path("runtimes/demo"))) {
    if (name == ".runner-manager-owner") continue;
    EXPECT_TRUE(name == "s1" || name == "s2") << name;
    EXPECT_EQ(entries(stage.path("runtimes/demo/" + name)), kOnlyWork);
  }
}

TEST(PersistentSlot, whose_place_is_taken_by_a_file_is_shown_and_kept_and_the_next_one_serves) {
  Stage stage(1, persistent);
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, "true");
  ASSERT_TRUE(stage.settles(1));
  ASSERT_EQ(stage.agent().terminate(), 0);
  const std::string slot = stage.path("runtimes/demo/s1");
  fs::remove_all(slot);
  std::ofstream(slot) << "the operator's";
  ASSERT_TRUE(stage.agent().start());
  ASSERT_TRUE(eventually([&] { return policy_of(stage)["refused_slots"].size() == 1; }));
  const json refused = policy_of(stage)["refused_slots"][0];
  EXPECT_EQ(refused["slot"], 1);
  EXPECT_EQ(refused["path"], slot);
  EXPECT_EQ(refused["refusal"], "slot_is_not_a_directory");
  EXPECT_FALSE(refused["remedy"].get<std::string>().empty());
  stage.queue(1, "true");
  ASSERT_TRUE(stage.settles(2));
  EXPECT_EQ(content(slot), "the operator's");
  EXPECT_EQ(entries(stage.path("runtimes/demo/s2")), kOnlyWork);
}

TEST(PersistentSlot, whose_work_a_job_replaced_is_quarantined_with_everything_in_it) {
  Stage stage(1, persistent);
  ASSERT_TRUE(stage.agent().start());
  const std::string outside = stage.path("runtimes/outside");
  fs::create_directory(outside);
  std::ofstream(outside + "/sentinel") << "untouched";
  stage.queue(1, "cd ${PWD%%/_work/*} && mv _work _gone && ln -s " + outside + " _work");
  ASSERT_TRUE(eventually([&] {
    const json document = json::parse(stage.agent().status_json(), nullptr, false);
    return document.is_object() && document["quarantined_slots"].size() == 1;
  }));
  const json row = json::parse(stage.agent().status_json())["quarantined_slots"][0];
  EXPECT_EQ(row["refusal"], "retained_work_is_not_a_directory");
  EXPECT_EQ(row["path"], stage.path("runtimes/demo/s1"));
  EXPECT_TRUE(fs::exists(stage.path("runtimes/demo/s1/bin")));
  stage.queue(1, "true");
  ASSERT_TRUE(eventually([&] { return stage.github()->summary().completed == 2; }));
  EXPECT_EQ(content(outside + "/sentinel"), "untouched");
  // The operator mends it; the next try comes with the next start.
  fs::remove(stage.path("runtimes/demo/s1/_work"));
  ASSERT_EQ(stage.agent().terminate(), 0);
  ASSERT_TRUE(stage.agent().start());
  ASSERT_TRUE(stage.settles(2));
  EXPECT_TRUE(entries(stage.path("runtimes/demo/s1")).empty());
}

TEST(RefusedRoot, is_shown_with_its_kind_and_path_and_cleared_by_the_next_success) {
  Stage stage(1);
  const std::string root = stage.path("runtimes/demo");
  std::ofstream(root) << "in the way";
  ASSERT_TRUE(stage.agent().start());
  ASSERT_TRUE(eventually([&] { return policy_of(stage)["root_refusal"] == "existing_file"; }));
  const json policy = policy_of(stage);
  EXPECT_EQ(policy["root"], root);
  EXPECT_EQ(policy["limited_by"], "root_refused");
  EXPECT_NE(policy["remedy"].get<std::string>().find(root), std::string::npos);
  EXPECT_EQ(content(root), "in the way");
  stage.queue(1, "true");
  fs::remove(root);
  ASSERT_TRUE(stage.settles(1, std::chrono::seconds(120)));
  EXPECT_TRUE(policy_of(stage)["root_refusal"].is_null());
}

}  // namespace
}  // namespace integration
