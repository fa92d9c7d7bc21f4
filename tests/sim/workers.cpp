#include "sim/workers.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

namespace simulation {

namespace {

struct Worker {
  pid_t pid = -1;
  std::FILE* from = nullptr;
};

// What a worker says, a line each: `begin SEED`, `end JOBS CRASHES COMMITS EFFECTS`, `violation TEXT`.
void work_through(const Work& work, int index, std::FILE* to) {
  const auto step = static_cast<std::uint64_t>(work.processes);
  for (auto number = static_cast<std::uint64_t>(index); number < work.histories; number += step) {
    const std::uint64_t seed = work.first_seed + number;
    std::fprintf(to, "begin %llu\n", static_cast<unsigned long long>(seed));
    std::fflush(to);
    const HistoryResult result = run_history(seed);
    if (!result.violations.empty()) std::fprintf(to, "violation %s\n", result.violations.front().c_str());
    std::fprintf(to, "end %lld %lld %lld %lld\n", static_cast<long long>(result.jobs),
                 static_cast<long long>(result.crashes), static_cast<long long>(result.commits),
                 static_cast<long long>(result.effects));
    if (work.until_found && !result.violations.empty()) break;
  }
  std::fflush(to);
}

Worker start(const Work& work, int index) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    std::FILE* to = fdopen(ends[1], "w");
    if (to != nullptr) work_through(work, index, to);
    _exit(to == nullptr ? 1 : 0);
  }
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    return {};
  }
  return {.pid = pid, .from = fdopen(ends[0], "r")};
}

bool read_line(std::FILE* from, std::string& line) {
  line.clear();
  for (int c = std::fgetc(from); c != EOF; c = std::fgetc(from)) {
    if (c == '\n') return true;
    line.push_back(static_cast<char>(c));
  }
  return false;
}

void collect(Worker& worker, Totals& totals) {
  std::uint64_t seed = 0;
  bool ended = true;
  std::string line;
  while (worker.from != nullptr && read_line(worker.from, line)) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "begin") {
      words >> seed;
      ended = false;
    } else if (word == "violation") {
      totals.violations.push_back({.seed = seed, .what = line.substr(word.size() + 1)});
    } else if (word == "end") {
      HistoryResult result;
      words >> result.jobs >> result.crashes >> result.commits >> result.effects;
      totals.add(result);
      ended = true;
    }
  }
  if (worker.from != nullptr) std::fclose(worker.from);
  int status = -1;
  if (worker.pid > 0) waitpid(worker.pid, &status, 0);
  if (!ended || status != 0)
    totals.violations.push_back({.seed = seed, .what = "the simulator itself broke off"});
}

}  // namespace

void Totals::add(const HistoryResult& result) {
  ++histories;
  jobs += result.jobs;
  crashes += result.crashes;
  commits += result.commits;
  effects += result.effects;
}

Totals run_histories(const Work& work) {
  std::vector<Worker> workers;
  for (int index = 0; index < work.processes; ++index)
    workers.push_back(start(work, index));
  Totals totals;
  for (Worker& worker : workers)
    collect(worker, totals);
  std::sort(totals.violations.begin(), totals.violations.end(),
            [](const Violation& left, const Violation& right) { return left.seed < right.seed; });
  return totals;
}

}  // namespace simulation
