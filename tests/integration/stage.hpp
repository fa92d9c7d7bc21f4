// One emulated GitHub with one agent, as most integration tests want them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <string>
#include <thread>

#include "client/emulator_client.hpp"
#include "support/agent.hpp"
#include "support/everything.hpp"
#include "support/temporary.hpp"

namespace integration {

inline constexpr const char* kRepository = "acme/widgets";

inline bool eventually(const std::function<bool()>& holds,
                       std::chrono::seconds limit = std::chrono::seconds(60)) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (std::chrono::steady_clock::now() < end) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return holds();
}

class Stage {
 public:
  explicit Stage(int capacity, const std::function<void(testkit::AgentSetup&)>& change = {},
                 const std::vector<std::string>& github_arguments = {})
      : github_({.repositories = {kRepository}, .arguments = github_arguments}),
        setup_(make_setup(capacity, change)),
        agent_(setup_) {}

  // What a failure elsewhere leaves to its reader: the agent's last words, its state, and GitHub's view.
  ~Stage() {
    if (!::testing::Test::HasFailure()) return;
    print_end_of("stderr.log");
    print_end_of("daemon.log");
    std::cerr << "== status\n" << agent_.status_json() << "\n== jobs\n";
    for (const auto& job : github_->jobs())
      std::cerr << job.id << ' ' << job.status << ' ' << job.result << " starts " << job.starts << " runner "
                << job.runner_id << '\n';
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  emulator::EmulatorProcess& github() { return github_; }
  testkit::Agent& agent() { return agent_; }
  [[nodiscard]] const testkit::AgentSetup& setup() const { return setup_; }
  [[nodiscard]] std::string path(const std::string& name) const { return directory_ / name; }

  void queue(int count, const std::string& script,
             const std::vector<std::string>& labels = {"self-hosted", "demo"}) {
    github_->queue({.repository = kRepository,
                    .labels = labels,
                    .script = script,
                    .count = count,
                    .separate_runs = true});
  }

  // Every job done and nothing left anywhere, but for what `may_stay`.
  [[nodiscard]] bool settles(
      int jobs, std::chrono::seconds limit = std::chrono::seconds(90),
      const std::function<bool(const testkit::AttemptView&)>& may_stay = [](const auto&) { return false; }) {
    return eventually(
        [&] {
          const auto summary = github_->summary();
          const auto live = agent_.live_attempts();
          return summary.completed >= jobs && summary.registrations == 0 &&
                 std::all_of(live.begin(), live.end(), may_stay);
        },
        limit);
  }

  // A script that runs until the file is there, at most two minutes.
  [[nodiscard]] static std::string wait_for(const std::string& file) {
    return "i=0; while [ ! -e " + file + " ] && [ $i -lt 1200 ]; do sleep 0.1; i=$((i+1)); done";
  }

 private:
  testkit::AgentSetup make_setup(int capacity,
                                 const std::function<void(testkit::AgentSetup&)>& change) const {
    testkit::AgentSetup setup;
    setup.directory = directory_.path();
    setup.bin = RMGR_BIN_DIR;
    setup.plugins = RMGR_PLUGIN_DIR;
    setup.github_url = github_.url();
    setup.token = github_.token();
    setup.capacity = capacity;
    if (change) change(setup);
    return setup;
  }

  void print_end_of(const std::string& name) const {
    constexpr std::size_t most = 256 * 1024;
    const std::string text = testkit::contents(path(name));
    std::cerr << "== the end of " << name << '\n'
              << text.substr(text.size() - std::min(text.size(), most)) << '\n';
  }

  testkit::TemporaryDirectory directory_;
  emulator::EmulatorProcess github_;
  testkit::AgentSetup setup_;
  testkit::Agent agent_;
};

}  // namespace integration
