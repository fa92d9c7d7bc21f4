// One run of the main job: an emulated GitHub, an agent, some jobs, and what came of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "support/agent.hpp"

namespace demo {

struct ShowOptions {
  int jobs = 5;
  int capacity = 2;
  std::string provider = "native";
  std::string engine;
  std::string bin, plugins;
  std::string more_plugins;  // a directory beside `plugins`, for the provider of somebody else; empty: none
  bool package_inside = false;  // the image of the test engine has the runner package
  int warm = 0;                 // runners that are prepared ahead
  bool live = true;             // print a line whenever something changed
  int at_once = 0;              // queue this many, then one more for each that ends; 0: all at the start
  std::chrono::milliseconds look_every{20};  // between two looks at what is done, if nobody watches
  std::vector<std::string> environment;      // NAME=value, of the agent alone
  std::string script = "echo built > result.txt";
};

struct Timing {
  std::int64_t queued_ms = 0, known_ms = 0, exec_ms = 0;
  testkit::AttemptView attempt;
};

struct ShowResult {
  int queued = 0, completed = 0, failed = 0;
  int attempts = 0;  // that the agent made for them
  testkit::Leftovers leftovers;
  std::vector<Timing> timings;  // of the jobs that ran, by the listener's own clock and the agent's journal
  std::int64_t peak_rss_bytes = 0;
  bool settled = false;
};

// Options for the build that the running program belongs to.
ShowOptions options_of_this_build();

ShowResult show(const ShowOptions& options);

// The value at a fraction of the sorted list; 0 for an empty one.
std::int64_t percentile(std::vector<std::int64_t> values, double fraction);

}  // namespace demo
