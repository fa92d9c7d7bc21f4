// rmgr-bench-pickup [--jobs N] [--capacity C] [--provider native|oci] [--engine NAME]: how long a queued job
// waits for its listener, and for what.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "bench/containers.hpp"
#include "demo/show.hpp"

namespace {

using Values = std::vector<std::int64_t>;

void print(const char* name, const Values& values, const char* after) {
  std::printf("\"%s\": {\"p50\": %lld, \"p95\": %lld}%s", name,
              static_cast<long long>(demo::percentile(values, 0.5)),
              static_cast<long long>(demo::percentile(values, 0.95)), after);
}

}  // namespace

int main(int argc, char** argv) {
  demo::ShowOptions options = demo::options_of_this_build();
  options.jobs = 50;
  options.capacity = 4;
  options.live = false;
  options.script = "true";
  for (int index = 1; index + 1 < argc; index += 2) {
    const std::string word = argv[index];
    if (word == "--jobs") options.jobs = std::max(1, std::atoi(argv[index + 1]));
    if (word == "--capacity") options.capacity = std::max(1, std::atoi(argv[index + 1]));
    if (word == "--provider") options.provider = argv[index + 1];
    if (word == "--engine") options.engine = argv[index + 1];
  }
  // One job at a time: what is measured is the way of a job, not its queue behind others.
  options.at_once = 1;
  try {
    if (options.provider != "native") return bench::containers(options);
    const demo::ShowResult result = demo::show(options);
    Values queued_to_exec, known_to_exec, beyond_package;
    for (const demo::Timing& timing : result.timings) {
      const auto& at = timing.attempt;
      const std::int64_t package = (at.materialized_ms - at.demand_seen_ms) +
                                   (at.prepared_ms - at.materialized_ms) +
                                   (timing.exec_ms - at.registered_ms);
      queued_to_exec.push_back(timing.exec_ms - timing.queued_ms);
      known_to_exec.push_back(timing.exec_ms - timing.known_ms);
      beyond_package.push_back(timing.exec_ms - timing.queued_ms - package);
    }
    if (result.timings.empty()) {
      std::fprintf(stderr, "rmgr-bench-pickup: no job ran\n");
      return 1;
    }
    std::printf("{\"jobs\": %d, \"completed\": %d, \"leftovers\": %d, ", result.queued, result.completed,
                result.leftovers.sum());
    print("queued_to_exec_ms", queued_to_exec, ", ");
    print("known_to_exec_ms", known_to_exec, ", ");
    print("beyond_package_ms", beyond_package, ", ");
    std::printf("\"peak_rss_bytes\": %lld}\n", static_cast<long long>(result.peak_rss_bytes));
    return result.completed == result.queued ? 0 : 1;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "rmgr-bench-pickup: %s\n", failure.what());
    return 1;
  }
}
