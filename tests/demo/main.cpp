// rmgr-demo: shows the main job, end to end. scripts/demo builds what it needs and starts it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <system_error>

#include "demo/show.hpp"

namespace {

int usage() {
  std::fprintf(stderr,
               "usage: rmgr-demo [--jobs N] [--capacity C] [--provider NAME] [--engine podman|docker]\n"
               "                 [--plugin-dir DIR] [--json]\n");
  return 2;
}

bool number(const char* text, int& value) {
  char* end = nullptr;
  const long parsed = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || parsed < 1 || parsed > 10'000) return false;
  value = static_cast<int>(parsed);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  demo::ShowOptions options = demo::options_of_this_build();
  bool json = false;
  for (int index = 1; index < argc; ++index) {
    const std::string word = argv[index];
    const char* value = index + 1 < argc ? argv[index + 1] : nullptr;
    if (word == "--json") {
      json = true;
      continue;
    }
    if (value == nullptr) return usage();
    ++index;
    if (word == "--jobs") {
      if (!number(value, options.jobs)) return usage();
    } else if (word == "--capacity") {
      if (!number(value, options.capacity)) return usage();
    } else if (word == "--provider") {
      options.provider = value;
    } else if (word == "--engine") {
      options.engine = value;
    } else if (word == "--plugin-dir") {
      std::error_code ignored;
      if (!std::filesystem::equivalent(value, options.plugins, ignored))
        options.more_plugins = std::filesystem::absolute(value);
    } else {
      return usage();
    }
  }
  try {
    const demo::ShowResult result = demo::show(options);
    std::vector<std::int64_t> pickup;
    for (const demo::Timing& timing : result.timings)
      pickup.push_back(timing.exec_ms - timing.queued_ms);
    const long long p50 = demo::percentile(pickup, 0.5);
    const long long p95 = demo::percentile(pickup, 0.95);
    const long long most = demo::percentile(pickup, 1.0);
    if (json) {
      std::printf(
          "{\"queued\": %d, \"completed\": %d, \"failed\": %d, \"leftovers\": %d, "
          "\"pickup_ms\": {\"p50\": %lld, \"p95\": %lld, \"max\": %lld}}\n",
          result.queued, result.completed, result.failed, result.leftovers.sum(), p50, p95, most);
    } else {
      std::printf(
          "queued %d, completed %d, failed %d, leftovers %d; from queued to the listener's start: "
          "half within %lld ms, 95 of 100 within %lld ms\n",
          result.queued, result.completed, result.failed, result.leftovers.sum(), p50, p95);
    }
    return result.completed == result.queued && result.leftovers.sum() == 0 ? 0 : 1;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "rmgr-demo: %s\n", failure.what());
    return 1;
  }
}
