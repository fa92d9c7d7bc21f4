#include "demo/show.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <thread>

#include "client/emulator_client.hpp"
#include "support/engine.hpp"
#include "support/temporary.hpp"

namespace demo {

namespace {

constexpr const char* kRepository = "acme/widgets";
constexpr std::chrono::seconds kPatience{300};

void print_change(const emulator::Summary& summary, const testkit::Agent& agent, std::string& last) {
  std::map<std::string, int> states;
  for (const auto& attempt : agent.live_attempts())
    ++states[attempt.state];
  std::string line = "jobs: " + std::to_string(summary.queued) + " queued, " +
                     std::to_string(summary.in_progress) + " running, " + std::to_string(summary.completed) +
                     " done | runners:";
  for (const auto& [state, count] : states)
    line += " " + std::to_string(count) + " " + state;
  if (states.empty()) line += " none";
  if (line != last) std::fprintf(stderr, "%s\n", line.c_str());
  last = line;
}

testkit::AgentSetup setup_for(const ShowOptions& options, const std::string& directory,
                              const emulator::EmulatorProcess& github) {
  testkit::AgentSetup setup;
  setup.directory = directory;
  setup.bin = options.bin;
  setup.plugins = options.plugins;
  setup.more_plugins = options.more_plugins;
  setup.provider = options.provider;
  if (options.provider != "native") {
    setup.provider_config = options.engine.empty() ? "{}" : "{engine: " + options.engine + "}";
  }
  if (const auto engine = testkit::test_engine(); engine && options.provider != "native") {
    setup.provider_config =
        options.package_inside
            ? testkit::provider_config(*engine,
                                       std::string(", pull: never, runner_path: ") + testkit::package_path)
            : testkit::provider_config(*engine);
    setup.policies.front().profile = {{"image", options.package_inside ? engine->full_image : engine->image}};
    setup.policies.front().warm = options.warm;
  }
  setup.github_url = github.url();
  setup.token = github.token();
  setup.environment = options.environment;
  setup.capacity = options.capacity;
  setup.policies.front().max = std::max(options.jobs, 1);
  return setup;
}

// Every runner has gone but those that wait for jobs, of which there are as many as there should be.
bool waits_only(const testkit::Agent& agent, int warm) {
  const auto live = agent.live_attempts();
  return std::ssize(live) == warm && std::all_of(live.begin(), live.end(), [](const auto& attempt) {
           return attempt.state == "prepared";
         });
}

}  // namespace

std::int64_t percentile(std::vector<std::int64_t> values, double fraction) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto last = static_cast<double>(values.size() - 1);
  return values[static_cast<std::size_t>(fraction * last + 0.5)];
}

ShowOptions options_of_this_build() {
  ShowOptions options;
  const auto bin = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  options.bin = bin;
  options.plugins = bin.parent_path() / "plugins";
  return options;
}

ShowResult show(const ShowOptions& options) {
  const testkit::TemporaryDirectory directory;
  emulator::EmulatorOptions github_options;
  github_options.program = options.bin + "/github-emulator";
  github_options.repositories = {kRepository};
  const auto engine = options.provider == "native" ? std::nullopt : testkit::test_engine();
  if (engine) github_options.arguments = {"--runner-url", "http://" + engine->address + ":{port}"};
  const emulator::EmulatorProcess github(github_options);
  testkit::Agent agent(setup_for(options, directory.path(), github));
  if (!agent.start()) {
    throw std::runtime_error("the agent did not start; its words: " +
                             testkit::run_program({"/bin/cat", directory / "stderr.log"}, nullptr));
  }
  if (options.live)
    std::fprintf(stderr, "GitHub (emulated) at %s, agent %d\n", github.url().c_str(), agent.pid());

  ShowResult result;
  const auto queue = [&](int count) {
    github->queue({.repository = kRepository,
                   .labels = {"self-hosted", "demo"},
                   .script = options.script,
                   .count = count,
                   .separate_runs = true});
    result.queued += count;
  };
  queue(options.at_once > 0 ? std::min(options.at_once, options.jobs) : options.jobs);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  std::string last;
  while (std::chrono::steady_clock::now() < end && !result.settled) {
    const emulator::Summary summary = github->summary();
    if (options.live) print_change(summary, agent, last);
    const int open = result.queued - summary.completed;
    if (options.at_once > 0 && open < options.at_once && result.queued < options.jobs) queue(1);
    const bool all_done = result.queued == options.jobs && summary.completed >= options.jobs;
    result.settled = all_done && summary.registrations == 0 && waits_only(agent, options.warm);
    std::this_thread::sleep_for(options.live ? std::chrono::milliseconds(50) : options.look_every);
  }
  const emulator::Summary summary = github->summary();
  result.peak_rss_bytes = agent.peak_rss_bytes();
  result.completed = summary.completed - summary.failed;
  result.failed = summary.failed + summary.started_twice;
  // An agent that ends keeps nothing waiting; what is left is counted from its journal then.
  if (agent.terminate() != 0) throw std::runtime_error("the agent did not end with 0 after SIGTERM");
  result.leftovers = agent.leftovers();
  result.leftovers.registrations = summary.registrations;
  if (engine) testkit::count_leftovers(*engine, result.leftovers);

  std::map<std::string, testkit::AttemptView> by_runner;
  for (const testkit::AttemptView& attempt : agent.attempts())
    by_runner["runner-manager-" + attempt.id] = attempt;
  result.attempts = static_cast<int>(by_runner.size());
  for (const emulator::JobView& job : github->jobs()) {
    const auto attempt = by_runner.find(job.runner_name);
    if (job.listener_exec_at_ms == 0 || attempt == by_runner.end()) continue;
    result.timings.push_back({.queued_ms = job.queued_at_ms,
                              .known_ms = attempt->second.demand_seen_ms,
                              .exec_ms = job.listener_exec_at_ms,
                              .attempt = attempt->second});
  }
  return result;
}

}  // namespace demo
