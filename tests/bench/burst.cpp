// rmgr-bench-burst [--jobs N] [--capacity C] [--runs N]: many jobs at once on a host with room for some.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/numbers.hpp"
#include "bench/sync_counter.h"
#include "demo/show.hpp"
#include "support/temporary.hpp"

namespace {

using Counts = std::array<std::uint64_t, RMGR_SYNC_NUMBERS>;

// A file that the agent counts in.
class CountFile {
 public:
  CountFile() { write({}); }
  [[nodiscard]] std::string path() const { return directory_ / "counts"; }
  [[nodiscard]] Counts read() const {
    Counts counts{};
    std::ifstream file(path(), std::ios::binary);
    if (!file.read(reinterpret_cast<char*>(counts.data()), sizeof counts))
      throw std::runtime_error("the counts of the agent cannot be read");
    return counts;
  }

 private:
  void write(const Counts& counts) {
    std::ofstream file(path(), std::ios::binary);
    file.write(reinterpret_cast<const char*>(counts.data()), sizeof counts);
  }
  testkit::TemporaryDirectory directory_;
};

struct Totals {
  int jobs = 0, completed = 0, leftovers = 0;
  std::vector<double> launches_per_second, wave_per_second, attempts, syncs, journal_syncs, rss;
};

// Launches in a second, from the moment that the first job was queued to the exec of the `last` listener.
double rate(const demo::ShowResult& result, std::size_t last) {
  std::vector<std::int64_t> execs;
  std::int64_t begin = result.timings.front().queued_ms;
  for (const demo::Timing& timing : result.timings) {
    execs.push_back(timing.exec_ms);
    begin = std::min(begin, timing.queued_ms);
  }
  std::sort(execs.begin(), execs.end());
  last = std::clamp<std::size_t>(last, 1, execs.size());
  const std::int64_t took = std::max<std::int64_t>(execs[last - 1] - begin, 1);
  return static_cast<double>(last) * 1e3 / static_cast<double>(took);
}

void run_once(const demo::ShowOptions& options, const std::string& counter, Totals& totals) {
  const CountFile counts;
  demo::ShowOptions counted = options;
  counted.environment = {"LD_PRELOAD=" + counter, RMGR_SYNC_COUNTS "=" + counts.path()};
  const demo::ShowResult result = demo::show(counted);
  const Counts seen = counts.read();
  if (result.timings.empty()) throw std::runtime_error("no job ran");
  if (seen[RMGR_SYNC_JOURNAL] == 0) throw std::runtime_error("nothing was counted: was the library loaded?");
  if (seen[RMGR_SYNC_FAILED] != 0) throw std::runtime_error("a sync of the agent failed");
  const auto attempts = static_cast<double>(result.attempts);
  totals.jobs += result.queued;
  totals.completed += result.completed;
  totals.leftovers += result.leftovers.sum();
  totals.attempts.push_back(attempts);
  totals.launches_per_second.push_back(rate(result, result.timings.size()));
  totals.wave_per_second.push_back(rate(result, static_cast<std::size_t>(options.capacity)));
  totals.syncs.push_back(static_cast<double>(seen[RMGR_SYNC_ALL]) / attempts);
  totals.journal_syncs.push_back(static_cast<double>(seen[RMGR_SYNC_JOURNAL]) / attempts);
  totals.rss.push_back(static_cast<double>(result.peak_rss_bytes));
  std::fprintf(stderr, "%.1f launches a second, %.2f syncs an attempt\n", totals.launches_per_second.back(),
               totals.syncs.back());
}

}  // namespace

int main(int argc, char** argv) {
  demo::ShowOptions options = demo::options_of_this_build();
  options.jobs = 200;
  options.capacity = 64;
  options.live = false;
  options.script = "true";
  // Each look starts a program on the processors that are measured.
  options.look_every = std::chrono::milliseconds(500);
  int runs = 3;
  for (int index = 1; index + 1 < argc; index += 2) {
    const std::string word = argv[index];
    const int number = std::max(1, std::atoi(argv[index + 1]));
    if (word == "--jobs") options.jobs = number;
    if (word == "--capacity") options.capacity = number;
    if (word == "--runs") runs = number;
  }
  const std::string counter = RMGR_SYNC_COUNTER;
  try {
    Totals totals;
    for (int run = 0; run < runs; ++run)
      run_once(options, counter, totals);
    std::printf(
        "{\"jobs\": %d, \"completed\": %d, \"leftovers\": %d, \"runs\": %d, \"launches_per_second\": %.2f, "
        "\"first_wave_per_second\": %.2f, \"fsyncs_per_attempt\": %.2f, \"journal_fsyncs_per_attempt\": "
        "%.2f, \"attempts\": %.0f, \"capacity\": %d, \"peak_rss_bytes\": %.0f}\n",
        totals.jobs, totals.completed, totals.leftovers, runs, bench::median(totals.launches_per_second),
        bench::median(totals.wave_per_second), bench::median(totals.syncs),
        bench::median(totals.journal_syncs), bench::median(totals.attempts), options.capacity,
        bench::median(totals.rss));
    return totals.completed == totals.jobs && totals.leftovers == 0 ? 0 : 1;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "rmgr-bench-burst: %s\n", failure.what());
    return 1;
  }
}
