// The removal of a runtime against `rm -rf`, on equal trees in the same run.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "numbers.hpp"
#include "support/temporary.hpp"
#include "workspace/workspace.hpp"

namespace {

using Clock = std::chrono::steady_clock;

struct Wish {
  int files = 100'000;
  int pairs = 5;
};

int number(int argc, char** argv, const char* name, int fallback) {
  for (int index = 1; index + 1 < argc; ++index) {
    if (std::strcmp(argv[index], name) == 0) return std::max(1, std::atoi(argv[index + 1]));
  }
  return fallback;
}

// As a job leaves it: many directories of few small files.
void make_tree(const std::string& top, int files) {
  constexpr int in_each = 100;
  if (::mkdir(top.c_str(), 0755) != 0) std::exit(1);
  for (int made = 0; made < files; made += in_each) {
    const std::string outer = top + "/" + std::to_string(made / in_each / 50);
    ::mkdir(outer.c_str(), 0755);
    const std::string inner = outer + "/" + std::to_string(made / in_each);
    if (::mkdir(inner.c_str(), 0755) != 0) std::exit(1);
    const int directory = ::open(inner.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int file = 0; file < in_each && made + file < files; ++file) {
      const auto name = "file-" + std::to_string(file);
      const int fd = ::openat(directory, name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
      if (fd < 0 || ::write(fd, "x", 1) != 1) std::exit(1);
      ::close(fd);
    }
    ::close(directory);
  }
  ::sync();  // neither of the two pays for what was written here
}

double since(Clock::time_point begun) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begun).count();
}

double by_rm(const std::string& tree) {
  const auto begun = Clock::now();
  const pid_t child = ::fork();
  if (child == 0) {
    ::execlp("rm", "rm", "-rf", "--", tree.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child || status != 0) std::exit(1);
  return since(begun);
}

double by_us(const std::string& root, const std::string& name) {
  const auto begun = Clock::now();
  const auto removal = agent::workspace::remove_runtime(root, name);
  if (!removal || !removal->complete) std::exit(1);
  return since(begun);
}

}  // namespace

int main(int argc, char** argv) {
  const Wish wish{.files = number(argc, argv, "--files", 100'000), .pairs = number(argc, argv, "--pairs", 5)};
  const testkit::TemporaryDirectory directory;
  const std::string root = directory.path();
  std::vector<double> ours, theirs, ratios;
  for (int pair = 0; pair < wish.pairs; ++pair) {
    make_tree(root + "/a", wish.files);
    make_tree(root + "/b", wish.files);
    // Who comes first takes turns: the second finds a warmer disk.
    const bool first = pair % 2 == 0;
    double us = 0, rm = 0;
    if (first) us = by_us(root, "a");
    rm = by_rm(root + "/b");
    if (!first) us = by_us(root, "a");
    ours.push_back(us);
    theirs.push_back(rm);
    ratios.push_back(us / rm);
    std::printf("pair %d: ours %.0f ms, rm -rf %.0f ms, ratio %.2f\n", pair + 1, us, rm, us / rm);
    std::fflush(stdout);
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "{\"files\": %d, \"pairs\": %d, \"ours_ms\": %.1f, \"rm_ms\": %.1f, \"ratio_rm\": %.3f, "
      "\"peak_rss_bytes\": %lld}\n",
      wish.files, wish.pairs, bench::median(ours), bench::median(theirs), bench::median(ratios),
      static_cast<long long>(usage.ru_maxrss) * 1024);
  return 0;
}
