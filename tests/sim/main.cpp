// rmgr-sim [--histories N] [--seed S] [--mistake NAME] [--trace]: runs histories and says what was found.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "sim/history.hpp"

namespace {

struct Arguments {
  std::uint64_t histories = 1000;
  std::uint64_t first_seed = 1;
  simulation::Mistake mistake = simulation::Mistake::none;
  bool trace = false;
};

bool parse(int argc, char** argv, Arguments& arguments) {
  for (int index = 1; index < argc; ++index) {
    const std::string word = argv[index];
    const bool has_value = index + 1 < argc;
    if (word == "--histories" && has_value) {
      arguments.histories = std::strtoull(argv[++index], nullptr, 10);
    } else if (word == "--seed" && has_value) {
      arguments.first_seed = std::strtoull(argv[++index], nullptr, 10);
    } else if (word == "--mistake" && has_value &&
               std::strcmp(argv[index + 1], "effect-before-journal") == 0) {
      ++index;
      arguments.mistake = simulation::Mistake::effect_before_journal;
    } else if (word == "--trace") {
      arguments.trace = true;
    } else {
      std::cerr
          << "usage: rmgr-sim [--histories N] [--seed FIRST] [--mistake effect-before-journal] [--trace]\n";
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!parse(argc, argv, arguments)) return 2;
  std::uint64_t violations = 0;
  std::int64_t jobs = 0;
  std::int64_t crashes = 0;
  std::int64_t commits = 0;
  std::int64_t effects = 0;
  const auto began = std::chrono::steady_clock::now();
  for (std::uint64_t index = 0; index < arguments.histories; ++index) {
    std::vector<std::string> lines;
    const auto result = simulation::run_history(arguments.first_seed + index, arguments.mistake,
                                                arguments.trace ? &lines : nullptr);
    for (const std::string& line : lines)
      std::cout << line << '\n';
    jobs += result.jobs;
    crashes += result.crashes;
    commits += result.commits;
    effects += result.effects;
    if (result.violations.empty()) continue;
    ++violations;
    std::cout << "seed " << result.seed << ": " << result.violations.front() << '\n';
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  std::cout << jobs << " jobs, " << crashes << " crashes, " << commits << " commits, " << effects
            << " effects, "
            << static_cast<std::uint64_t>(static_cast<double>(arguments.histories) / took.count())
            << " histories per second\n";
  std::cout << arguments.histories << " histories, " << violations << " violations\n";
  return violations == 0 ? 0 : 1;
}
