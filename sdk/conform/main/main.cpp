// rmgr-conform: the conformance suite as a program. Its own roles for children begin with --child and
// --supervise.
#include <climits>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>

#include "conform/host.hpp"
#include "conform/options.hpp"

namespace {

using namespace rmgr::conform;

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

int run(Options& options) {
  options.plan.program = std::filesystem::read_symlink("/proc/self/exe").string();
  const bool text = options.form == Form::text;
  const auto results = run_suite(options.plan, options.choice, [&](const Result& one) {
    if (text) print(result_text(one));
  });
  if (results.empty()) {
    std::fputs("rmgr-conform: no test was chosen\n", stderr);
    return 2;
  }
  if (text) print(summary_text(results));
  if (options.form == Form::json) print(results_json(options.plan, results));
  if (options.form == Form::junit) print(results_junit(options.plan, results));
  return good(results) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (!words.empty() && words[0] == "--child") return child_main({words.begin() + 1, words.end()});
    if (words.size() == 2 && words[0] == "--supervise") return supervise(words[1]);
    std::signal(SIGPIPE, SIG_IGN);
    Options options = read_options(words);
    if (!options.problem.empty()) {
      std::fprintf(stderr, "rmgr-conform: %s\n%s", printable(options.problem).c_str(), usage().c_str());
      return 2;
    }
    if (options.help) {
      print(usage());
      return 0;
    }
    if (options.list) {
      print(options.form == Form::json ? list_json() : list_text());
      return 0;
    }
    return run(options);
  } catch (const std::exception& defect) {
    std::fprintf(stderr, "rmgr-conform: a defect ended the program: %s\n", defect.what());
    return 1;
  }
}
