// rmgr-bench-history [--few N] [--many N] [--runs N] [--passes N] [--memory-runs N] [--memory-passes N]
// [--directory DIR]: what a pass costs over a short and over a long history. Histories that an earlier run
// left in DIR are used again.
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/long_history.hpp"
#include "bench/numbers.hpp"
#include "support/agent.hpp"
#include "support/temporary.hpp"

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::int64_t few = 1'000, many = 1'000'000;
  int runs = 5, passes = 200;
  // So many that what the journal may keep of its file in memory is full over the short history too.
  int memory_runs = 3, memory_passes = 1'000;
};

double since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double cpu_ms() {
  timespec spent{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) * 1e3 + static_cast<double>(spent.tv_nsec) / 1e6;
}

// A line of /proc/self/status, in bytes.
std::int64_t own_memory(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field + ":")) return std::stoll(line.substr(field.size() + 1)) * 1024;
  }
  throw std::runtime_error("the kernel does not tell " + field);
}

struct Costs {
  std::vector<double> wall, cpu;
};

void measure_pass(bench::Host& host, Costs& costs) {
  const double cpu = cpu_ms();
  const auto begin = Clock::now();
  host.pass();
  costs.wall.push_back(since(begin));
  costs.cpu.push_back(cpu_ms() - cpu);
}

struct TimeResult {
  std::vector<double> few_ms, many_ms, ratio, cpu_ratio;  // one of each run
};

// Passes over the two histories take turns, so that whatever else the machine does meets both.
TimeResult measure_time(const std::string& few, const std::string& many, const Options& options) {
  TimeResult result;
  bench::Host short_one(few, options.few, false);
  bench::Host long_one(many, options.many, false);
  for (int warm = 0; warm < 5; ++warm) {
    short_one.pass();
    long_one.pass();
  }
  for (int run = 0; run < options.runs; ++run) {
    Costs of_few, of_many;
    for (int pass = 0; pass < options.passes; ++pass) {
      if (pass % 2 == 0) measure_pass(short_one, of_few);
      measure_pass(long_one, of_many);
      if (pass % 2 != 0) measure_pass(short_one, of_few);
    }
    result.few_ms.push_back(bench::median(of_few.wall));
    result.many_ms.push_back(bench::median(of_many.wall));
    result.ratio.push_back(result.many_ms.back() / result.few_ms.back());
    result.cpu_ratio.push_back(bench::median(of_many.cpu) / bench::median(of_few.cpu));
    std::fprintf(stderr, "a pass: %.2f and %.2f ms, of them CPU %.2f and %.2f ms\n", result.few_ms.back(),
                 result.many_ms.back(), bench::median(of_few.cpu), bench::median(of_many.cpu));
  }
  return result;
}

// In a process of its own: what a host adds to the memory of a program that did nothing yet.
int print_memory(const std::string& directory, std::int64_t keep, int passes) {
  const std::int64_t before = own_memory("VmRSS");
  const auto begin = Clock::now();
  bench::Host host(directory, keep, false);
  const double opened = since(begin);
  for (int pass = 0; pass < passes; ++pass)
    host.pass();
  const std::int64_t peak = own_memory("VmHWM");
  std::printf("%lld %lld %.1f\n", static_cast<long long>(peak - before), static_cast<long long>(peak),
              opened);
  return 0;
}

struct MemoryResult {
  std::vector<double> growth, peak, open_ms;
};

void measure_memory(const std::string& directory, std::int64_t keep, int passes, MemoryResult& result) {
  int status = 0;
  const std::string said = testkit::run_program({std::filesystem::read_symlink("/proc/self/exe"), "--memory",
                                                 directory, std::to_string(keep), std::to_string(passes)},
                                                &status);
  char* rest = nullptr;
  const double growth = std::strtod(said.c_str(), &rest);
  if (status != 0 || rest == said.c_str()) throw std::runtime_error("a run for memory failed");
  result.growth.push_back(growth);
  result.peak.push_back(std::strtod(rest, &rest));
  result.open_ms.push_back(std::strtod(rest, nullptr));
  std::fprintf(stderr, "memory over %lld: %.0f bytes\n", static_cast<long long>(keep), growth);
}

// A journal that was allowed far less from one day to the next: each pass forgets as much as a step may.
double backlog_step_ms(const std::string& directory) {
  bench::Host host(directory, 1'000'000'000, false);
  std::vector<double> steps;
  for (int step = 0; step < 20; ++step) {
    const auto begin = Clock::now();
    const auto pruned = host.journal().prune(host.now_ms(), 10'000, bench::reconcile::kHistoryPruneStep);
    if (!pruned) throw std::runtime_error(pruned.error().message);
    if (*pruned < bench::reconcile::kHistoryPruneStep) break;
    steps.push_back(since(begin));
  }
  return bench::median(steps);
}

Options parse(int argc, char** argv, std::string& directory) {
  Options options;
  for (int index = 1; index + 1 < argc; index += 2) {
    const std::string word = argv[index];
    const std::int64_t number = std::max(1LL, std::atoll(argv[index + 1]));
    if (word == "--few") options.few = number;
    if (word == "--many") options.many = number;
    if (word == "--runs") options.runs = static_cast<int>(number);
    if (word == "--passes") options.passes = static_cast<int>(number);
    if (word == "--memory-runs") options.memory_runs = static_cast<int>(number);
    if (word == "--memory-passes") options.memory_passes = static_cast<int>(number);
    if (word == "--directory") directory = argv[index + 1];
  }
  return options;
}

int run(const Options& options, const std::string& directory, bool keep) {
  const std::string few = directory + "/few", many = directory + "/many";
  for (const auto& [name, finished] : {std::pair{few, options.few}, {many, options.many}}) {
    if (std::filesystem::exists(name + "/journal.db")) continue;
    std::filesystem::create_directories(name);
    std::filesystem::permissions(name, std::filesystem::perms(0700));
    const auto begin = Clock::now();
    bench::make_history(name, finished);
    std::fprintf(stderr, "made a history of %lld attempts in %.1f s\n", static_cast<long long>(finished),
                 since(begin) / 1e3);
  }
  const auto bytes = std::filesystem::file_size(many + "/journal.db");

  MemoryResult few_memory, many_memory;
  for (int run = 0; run < options.memory_runs; ++run) {
    measure_memory(few, options.few, options.memory_passes, few_memory);
    measure_memory(many, options.many, options.memory_passes, many_memory);
  }
  const TimeResult time = measure_time(few, many, options);
  const bench::Rows rows = bench::count_rows(many);
  const double step = keep ? 0 : backlog_step_ms(many);  // makes the history shorter
  std::printf(
      "{\"live\": %d, \"finished\": [%lld, %lld], \"runs\": %d, \"passes\": %d, \"ratio_time\": %.3f, "
      "\"ratio_cpu\": %.3f, \"ratio_memory\": %.3f, \"pass_ms\": [%.2f, %.2f], "
      "\"memory_growth_bytes\": [%.0f, %.0f], \"peak_rss_bytes\": [%.0f, %.0f], "
      "\"open_ms\": [%.0f, %.0f], \"backlog_step_ms\": %.1f, "
      "\"journal_events\": %lld, \"journal_bytes\": %lld}\n",
      bench::kLive, static_cast<long long>(options.few), static_cast<long long>(rows.attempts), options.runs,
      options.passes, bench::median(time.ratio), bench::median(time.cpu_ratio),
      bench::median(many_memory.growth) / bench::median(few_memory.growth), bench::median(time.few_ms),
      bench::median(time.many_ms), bench::median(few_memory.growth), bench::median(many_memory.growth),
      bench::median(few_memory.peak), bench::median(many_memory.peak), bench::median(few_memory.open_ms),
      bench::median(many_memory.open_ms), step, static_cast<long long>(rows.events),
      static_cast<long long>(bytes));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 5 && std::string(argv[1]) == "--memory")
      return print_memory(argv[2], std::atoll(argv[3]), std::atoi(argv[4]));
    std::string directory;
    const Options options = parse(argc, argv, directory);
    if (!directory.empty()) return run(options, directory, true);
    const testkit::TemporaryDirectory temporary(0700);
    return run(options, temporary.path(), false);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "rmgr-bench-history: %s\n", failure.what());
    return 1;
  }
}
