// Which tests run on a library, in which order, and what came out.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "conform/child.hpp"

namespace rmgr::conform {

struct Choice {
  std::string include;  // extended regular expressions; empty: all, none
  std::string exclude;
  bool in_process = false;
  bool keep = false;  // the scratch directories
};

struct Result {
  std::string id;
  std::string interface;  // short name, or empty
  Outcome outcome;
  long long milliseconds = 0;
  std::string output;
};

// Runs every chosen test. `seen` is told each result as it comes.
[[nodiscard]] std::vector<Result> run_suite(const Plan& plan, const Choice& choice,
                                            const std::function<void(const Result&)>& seen);

[[nodiscard]] bool good(const std::vector<Result>& results);

[[nodiscard]] std::string list_text();
[[nodiscard]] std::string list_json();
[[nodiscard]] std::string result_text(const Result& result);
[[nodiscard]] std::string summary_text(const std::vector<Result>& results);
[[nodiscard]] std::string results_json(const Plan& plan, const std::vector<Result>& results);
[[nodiscard]] std::string results_junit(const Plan& plan, const std::vector<Result>& results);

}  // namespace rmgr::conform
