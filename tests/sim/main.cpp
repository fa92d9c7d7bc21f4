// rmgr-sim: runs histories and says what was found.
//   rmgr-sim [--histories N] [--seed FIRST] [--processes P] [--until-found]
//   rmgr-sim --seed S --trace      one history with its log
//   rmgr-sim --month [--seed S] [--days D] [--jobs-per-day N]
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "sim/history.hpp"
#include "sim/month.hpp"
#include "sim/workers.hpp"

namespace {

struct Arguments {
  simulation::Work work;
  simulation::Month month;
  bool trace = false;
  bool whole_month = false;
};

bool parse(int argc, char** argv, Arguments& arguments) {
  for (int index = 1; index < argc; ++index) {
    const std::string word = argv[index];
    const bool has_value = index + 1 < argc;
    const auto number = [&] { return std::strtoull(argv[++index], nullptr, 10); };
    if (word == "--histories" && has_value) {
      arguments.work.histories = number();
    } else if (word == "--seed" && has_value) {
      arguments.work.first_seed = number();
    } else if (word == "--processes" && has_value) {
      arguments.work.processes = static_cast<int>(std::clamp<std::uint64_t>(number(), 1, 64));
    } else if (word == "--until-found") {
      arguments.work.until_found = true;
    } else if (word == "--trace") {
      arguments.trace = true;
    } else if (word == "--month") {
      arguments.whole_month = true;
    } else if (word == "--days" && has_value) {
      arguments.month.days = std::clamp<std::int64_t>(static_cast<std::int64_t>(number()), 1, 366);
    } else if (word == "--jobs-per-day" && has_value) {
      arguments.month.jobs_per_day = std::clamp<std::int64_t>(static_cast<std::int64_t>(number()), 1, 10'000);
    } else {
      std::cerr << "usage: rmgr-sim [--histories N] [--seed FIRST] [--processes P] [--until-found]\n"
                   "       rmgr-sim --seed SEED --trace\n"
                   "       rmgr-sim --month [--seed SEED] [--days D] [--jobs-per-day N]\n";
      return false;
    }
  }
  return true;
}

simulation::Totals totals_of(const simulation::HistoryResult& result) {
  simulation::Totals totals;
  totals.add(result);
  for (const std::string& what : result.violations)
    totals.violations.push_back({.seed = result.seed, .what = what});
  return totals;
}

simulation::Totals trace(std::uint64_t seed) {
  std::vector<std::string> lines;
  const auto result = simulation::run_history(seed, &lines);
  for (const std::string& line : lines)
    std::cout << line << '\n';
  return totals_of(result);
}

simulation::Totals run(Arguments& arguments) {
  if (arguments.trace) return trace(arguments.work.first_seed);
  if (!arguments.whole_month) return simulation::run_histories(arguments.work);
  arguments.month.seed = arguments.work.first_seed;
  return totals_of(simulation::run_month(arguments.month, std::cout));
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!parse(argc, argv, arguments)) return 2;
  // Each history makes and drops megabytes: the memory is kept, not given back to the system each time.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  const auto began = std::chrono::steady_clock::now();
  const auto totals = run(arguments);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  for (const auto& violation : totals.violations)
    std::cout << "seed " << violation.seed << ": " << violation.what << '\n';
  std::cout << totals.jobs << " jobs, " << totals.crashes << " crashes, " << totals.commits << " commits, "
            << totals.effects << " effects, "
            << static_cast<std::uint64_t>(static_cast<double>(totals.histories) / took.count())
            << " histories per second\n";
  std::cout << totals.histories << " histories, " << totals.violations.size() << " violations\n";
  return totals.violations.empty() ? 0 : 1;
}
