// What becomes of attempts when the engine, or somebody at it, does what nobody asked for.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "containers.hpp"
#include "support/everything.hpp"

namespace integration {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

// Ends with what it takes up.
class Ballast {
 public:
  // Leaves about `room` bytes on the engine's disk.
  explicit Ballast(std::uintmax_t room) : file_(engine().state + "/data/ballast") {
    const auto free = fs::space(engine().state + "/data").available;
    const int file = ::open(file_.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (file < 0 || (free > room && ::posix_fallocate(file, 0, static_cast<off_t>(free - room)) != 0))
      throw std::runtime_error("the engine's disk cannot be filled");
    ::close(file);
  }
  ~Ballast() { drop(); }
  Ballast(const Ballast&) = delete;
  Ballast& operator=(const Ballast&) = delete;
  void drop() {
    std::error_code ignored;
    fs::remove(file_, ignored);
  }

 private:
  std::string file_;
};

bool failed_once(ContainerStage& stage) {
  return eventually([&] {
    const auto all = stage.agent().attempts();
    return std::any_of(all.begin(), all.end(),
                       [](const testkit::AttemptView& one) { return one.outcome == "failed"; });
  });
}

TEST(ContainerFaults, an_engine_that_is_killed_and_started_again_costs_no_job_that_outlives_it) {
  // Docker's containers outlive it where it is told so, Podman's do.
  if (docker()) {
    testkit::control_engine(engine(), {"stop"});
    testkit::control_engine(engine(), {"start", "--live-restore"});
  }
  {
    ContainerStage stage(2);
    ASSERT_TRUE(stage.agent().start());
    stage.queue(1, stays());
    ASSERT_TRUE(stage.at_work(1));
    const std::string id = only_container();
    testkit::control_engine(engine(), {"kill"});
    ASSERT_TRUE(stage.refused_for("start"));
    stage.queue(1, "true");
    EXPECT_EQ(stage.agent().live_attempts().size(), 1U) << "nobody knows of an end";
    testkit::control_engine(engine(), docker() ? std::vector<std::string>{"start", "--live-restore"}
                                               : std::vector<std::string>{"start"});
    ASSERT_TRUE(eventually([&] { return stage.github()->summary().completed == 1; }))
        << "the other job starts when the engine is back";
    release(id);
    ASSERT_TRUE(stage.settles(2));
    for (const auto& attempt : stage.agent().attempts())
      EXPECT_EQ(attempt.outcome, "completed_job") << attempt.reason;
    EXPECT_EQ(stage.agent().attempts().size(), 2U);
    stage.expect_each_ran_once();
  }
  if (docker()) {
    testkit::control_engine(engine(), {"stop"});
    testkit::control_engine(engine(), {"start"});
  }
}

TEST(ContainerFaults, an_engine_that_takes_its_containers_along_costs_their_jobs_and_leaves_nothing) {
  ContainerStage stage(1);
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, stays());
  ASSERT_TRUE(stage.at_work(1));
  if (docker()) {
    testkit::control_engine(engine(), {"stop"});
  } else {
    // As a machine that goes down does: Podman itself takes none along.
    ask("POST", "/containers/" + only_container() + "/kill?signal=SIGKILL");
    testkit::control_engine(engine(), {"stop"});
  }
  testkit::control_engine(engine(), {"start"});
  ASSERT_TRUE(stage.settles(1));
  EXPECT_EQ(stage.github()->jobs().front().result, "failure");
  for (const auto& attempt : stage.agent().attempts())
    EXPECT_EQ(attempt.outcome, "failed") << attempt.reason;
  stage.expect_nothing_left();
  stage.queue(1, "true");
  ASSERT_TRUE(stage.settles(2));
  stage.expect_nothing_left();
}

TEST(ContainerFaults, a_socket_that_goes_and_comes_back_costs_nothing) {
  ContainerStage stage(2);
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, stays());
  ASSERT_TRUE(stage.at_work(1));
  const std::string id = only_container();
  fs::rename(engine().socket, engine().socket + ".away");
  ASSERT_TRUE(stage.refused_for("socket"));
  stage.queue(1, "true");
  EXPECT_EQ(stage.agent().live_attempts().size(), 1U);
  fs::rename(engine().socket + ".away", engine().socket);
  ASSERT_TRUE(eventually([&] { return stage.github()->summary().completed == 1; }));
  release(id);
  ASSERT_TRUE(stage.settles(2));
  EXPECT_EQ(stage.agent().attempts().size(), 2U);
  stage.expect_each_ran_once();
}

TEST(ContainerFaults, one_that_somebody_removes_is_cleaned_up_after) {
  ContainerStage stage(1);
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, "sleep 60");
  ASSERT_TRUE(stage.at_work(1));
  drop_container(only_container());
  ASSERT_TRUE(stage.settles(1));
  EXPECT_EQ(stage.github()->jobs().front().result, "failure");
  ASSERT_EQ(stage.agent().attempts().size(), 1U);
  EXPECT_EQ(stage.agent().attempts().front().outcome, "failed");
  stage.expect_nothing_left();
}

TEST(ContainerFaults, one_that_somebody_stops_is_cleaned_up_after) {
  ContainerStage stage(1);
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, "sleep 60");
  ASSERT_TRUE(stage.at_work(1));
  ask("POST", "/containers/" + only_container() + "/stop?t=1");
  ASSERT_TRUE(stage.settles(1));
  ASSERT_EQ(stage.agent().attempts().size(), 1U);
  stage.expect_nothing_left();
}

// The registration takes its time, and meanwhile the container is there and was never started.
TEST(ContainerFaults, one_that_is_gone_before_its_start_fails_its_launch_alone) {
  ContainerStage stage(1);
  const auto fault =
      stage.github()->add_fault({.action = "delay", .path = "*/generate-jitconfig", .delay_ms = 3'000});
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, "true");
  ASSERT_TRUE(eventually([&] { return stage.github()->fault_hits(fault) > 0; }));
  drop_container(only_container());
  ASSERT_TRUE(stage.settles(1));
  EXPECT_TRUE(failed_once(stage));
  stage.expect_each_ran_once();
}

TEST(ContainerFaults, one_that_somebody_else_started_never_gets_the_secret) {
  ContainerStage stage(1);
  const auto fault =
      stage.github()->add_fault({.action = "delay", .path = "*/generate-jitconfig", .delay_ms = 3'000});
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, "true");
  ASSERT_TRUE(eventually([&] { return stage.github()->fault_hits(fault) > 0; }));
  ask("POST", "/containers/" + only_container() + "/start");
  ASSERT_TRUE(stage.settles(1));
  EXPECT_TRUE(failed_once(stage));
  stage.expect_each_ran_once();
}

std::string attempt_in(ContainerStage& stage, const std::string& column) {
  return testkit::journal_value(stage.agent().state() + "/journal.db",
                                "SELECT " + column + " FROM attempt ORDER BY rowid DESC LIMIT 1");
}

TEST(ContainerFaults, a_name_that_a_stranger_has_fails_the_launch_and_not_the_stranger) {
  ContainerStage stage(1);
  const auto fault =
      stage.github()->add_fault({.action = "delay", .path = "/_download/*", .delay_ms = 3'000});
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, "true");
  ASSERT_TRUE(eventually([&] { return stage.github()->fault_hits(fault) > 0; }));
  const std::string name =
      "rm-" + attempt_in(stage, "id") + "-" + attempt_in(stage, "generation").substr(0, 8);
  const std::string stranger = make_container(name, {{"who", "a stranger"}});
  ASSERT_TRUE(stage.settles(1));
  EXPECT_TRUE(failed_once(stage));
  EXPECT_THAT(testkit::contents(stage.agent().log_file()), HasSubstr("is taken by a container"));
  EXPECT_EQ(only_container(), stranger);
  EXPECT_EQ(containers().front()["State"]["Status"], "created");
  drop_container(stranger);
  stage.expect_each_ran_once();
}

json identity() {
  const auto all = containers();
  json labels = all.front()["Config"]["Labels"];
  return labels.contains("runner-manager.generation") ? labels : json::object();
}

bool shows_quarantined(ContainerStage& stage, const std::string& what) {
  return eventually([&] {
    const json status = stage.status();
    return status.contains("quarantined_sandboxes") &&
           status["quarantined_sandboxes"].dump().find(what) != std::string::npos;
  });
}

TEST(ContainerFaults, one_of_another_generation_is_shown_and_left_alone) {
  ContainerStage stage(1);
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, stays());
  ASSERT_TRUE(stage.at_work(1));
  const std::string own = only_container();
  json labels = identity();
  labels["runner-manager.generation"] = std::string(32, 'e');
  const std::string other = make_container("rm-other", labels);
  ASSERT_TRUE(shows_quarantined(stage, other));
  release(own);
  ASSERT_TRUE(stage.settles(1)) << "it keeps nothing from being cleaned";
  EXPECT_EQ(only_container(), other);
  EXPECT_EQ(containers().front()["State"]["Status"], "created");
  EXPECT_TRUE(shows_quarantined(stage, other));
  drop_container(other);
  stage.expect_each_ran_once();
}

TEST(ContainerFaults, two_of_one_identity_are_both_kept_until_somebody_decides) {
  ContainerStage stage(1);
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, stays());
  ASSERT_TRUE(stage.at_work(1));
  const std::string own = only_container();
  const std::string double_ = make_container("rm-double", identity());
  release(own);
  ASSERT_TRUE(eventually([&] { return stage.github()->summary().completed == 1; }));
  ASSERT_TRUE(shows_quarantined(stage, own));
  EXPECT_EQ(containers().size(), 2U);
  EXPECT_EQ(stage.agent().live_attempts().size(), 1U) << "it costs capacity";
  drop_container(double_);
  // A restart makes it due.
  ASSERT_EQ(stage.agent().terminate(), 0);
  ASSERT_TRUE(stage.agent().start());
  ASSERT_TRUE(stage.settles(1));
  stage.expect_each_ran_once();
}

TEST(ContainerFaults, a_disk_that_is_full_fails_the_launch_and_is_undone) {
  for (const std::uintmax_t room : {std::uintmax_t{0}, std::uintmax_t{4} << 20}) {
    SCOPED_TRACE(room);
    ContainerStage stage(1);
    Ballast ballast(room);
    ASSERT_TRUE(stage.agent().start());
    stage.queue(1, "true");
    ASSERT_TRUE(failed_once(stage));
    EXPECT_THAT(testkit::contents(stage.agent().log_file()), HasSubstr("no space left on device"));
    ballast.drop();
    ASSERT_TRUE(stage.settles(1, std::chrono::seconds(150)));
    stage.expect_each_ran_once();
  }
}

TEST(ContainerFaults, a_job_that_fills_the_disk_is_cleaned_up_after) {
  ContainerStage stage(1);
  Ballast ballast(std::uintmax_t{48} << 20);
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, "dd if=/dev/zero of=/fill bs=1M count=400 2>&1 | grep -q 'No space left'");
  ASSERT_TRUE(stage.settles(1));
  stage.expect_each_ran_once();
}

}  // namespace
}  // namespace integration
