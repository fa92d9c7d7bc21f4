// rmgr-crash [--list] [--times N] [--worlds N] [--points FILE] [--only TEXT] [--story NAME]
//            [--daemon DIRECTORY] [--until-found] [--verbose]
// Plays each story once without a kill and lists which points it reached how often (--list ends here); then
// kills the daemon at each point in turn, starts it again and checks that nothing was lost, doubled or left.
// The points that were reached must be the ones that FILE lists, and every one that the sources name is
// there.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "crash/world.hpp"
#include "support/everything.hpp"
#include "support/temporary.hpp"

namespace {

namespace fs = std::filesystem;

struct Options {
  long times = 1;
  int worlds = 4;
  std::string points = RMGR_SOURCE_DIR "/tests/crash/points.txt";
  std::string only, story, daemon;
  bool list = false, until_found = false, verbose = false;
};

// Names that stand whole in the sources. Those of containers are met beside an engine, real or scripted, by
// the tests of those.
std::set<std::string> named_in_sources() {
  std::set<std::string> names;
  for (const char* room : {"core", "plugins"})
    names.merge(testkit::crash_points_in(fs::path(RMGR_SOURCE_DIR) / room));
  std::erase_if(names, [](const std::string& name) {
    return name.starts_with("oci.") || name.starts_with("hyperv.") || name.starts_with("engine.");
  });
  return names;
}

// One name a line; after `#` a remark.
std::set<std::string> listed(const std::string& file) {
  std::set<std::string> names;
  std::ifstream input(file);
  for (std::string line; std::getline(input, line);) {
    line.erase(std::min(line.find('#'), line.size()));
    line.erase(std::remove(line.begin(), line.end(), ' '), line.end());
    if (!line.empty()) names.insert(line);
  }
  return names;
}

struct Place {
  std::string story;
  long visits = 0;  // in it
};

class Run {
 public:
  explicit Run(Options options) : options_(std::move(options)) {}

  int all() {
    dry_run();
    if (!options_.only.empty() || !options_.story.empty()) {
      std::erase_if(reached_, [this](const auto& entry) {
        return entry.first.find(options_.only) == std::string::npos;
      });
    } else {
      compare_with_the_list();
    }
    if (!options_.list) kill_at(orders());
    std::printf("%zu points, %d violations\n", reached_.size(), violations_.load());
    return violations_ == 0 && !reached_.empty() ? 0 : 1;
  }

 private:
  [[nodiscard]] std::vector<std::string> stories() const {
    return options_.story.empty() ? crash::stories() : std::vector{options_.story};
  }

  void dry_run() {
    const testkit::TemporaryDirectory traces;
    std::map<std::string, crash::Verdict> verdicts;
    std::vector<std::thread> threads;
    for (const std::string& story : stories()) {
      crash::Verdict& verdict = verdicts[story];
      threads.emplace_back([this, &verdict, story, trace = traces / story] {
        verdict = crash::play({.story = story,
                               .point = {},
                               .nth = 1,
                               .trace = trace,
                               .bin = RMGR_BIN_DIR,
                               .daemon = options_.daemon});
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    for (const std::string& story : stories()) {
      for (const std::string& what : verdicts[story].violations)
        violation("without a kill (" + story + ")", what);
      std::map<std::string, long> visits;
      std::ifstream input(traces / story);
      for (std::string line; std::getline(input, line);)
        ++visits[line];
      for (const auto& [name, count] : visits)
        // The slow one only for what nothing else reaches.
        if (story != "overtime" || !reached_.contains(name)) reached_[name].push_back({story, count});
    }
    for (const auto& [name, places] : reached_) {
      std::printf("%-40s", name.c_str());
      for (const Place& place : places)
        std::printf(" %s %ld", place.story.c_str(), place.visits);
      std::printf("\n");
    }
    std::fflush(stdout);
  }

  void compare_with_the_list() {
    const std::set<std::string> wanted = listed(options_.points);
    for (const std::string& name : wanted) {
      if (!reached_.contains(name)) violation(name, "was never reached");
    }
    for (const std::string& name : named_in_sources()) {
      if (!wanted.contains(name)) violation(name, "is in the sources and not in the list of points");
    }
    for (const auto& [name, places] : reached_) {
      if (!wanted.contains(name)) violation(name, "was reached and is not in the list of points");
    }
  }

  // From point to point another of the stories that come there, and another visit each time.
  [[nodiscard]] std::vector<crash::Order> orders() const {
    std::vector<crash::Order> orders;
    std::size_t turn = 0;
    for (const auto& [name, places] : reached_) {
      const std::size_t first = turn++;
      for (long time = 1; time <= options_.times; ++time) {
        const Place& place = places[(first + static_cast<std::size_t>(time) - 1) % places.size()];
        const long nth = time == 1 ? 1 : time == 2 ? place.visits : 1 + place.visits / 2;
        orders.push_back({.story = place.story,
                          .point = name,
                          .nth = nth,
                          .trace = {},
                          .bin = RMGR_BIN_DIR,
                          .daemon = options_.daemon});
      }
    }
    return orders;
  }

  void kill_at(const std::vector<crash::Order>& orders) {
    std::atomic<std::size_t> next{0};
    std::vector<std::thread> threads;
    for (int world = 0; world < options_.worlds; ++world) {
      threads.emplace_back([this, &orders, &next] {
        for (std::size_t index = 0; (index = next.fetch_add(1)) < orders.size();) {
          if (options_.until_found && violations_ > 0) return;
          const crash::Order& order = orders[index];
          const auto begun = std::chrono::steady_clock::now();
          crash::Verdict verdict = crash::play(order);
          // Which of several commits share a turn is a matter of luck, so a visit may not come again.
          for (int again = 0; !verdict.killed && verdict.violations.empty() && again < 3; ++again) {
            crash::Order first = order;
            first.nth = 1;
            first.story = reached_.at(order.point).front().story;
            verdict = crash::play(first);
          }
          if (!verdict.killed && verdict.violations.empty())
            verdict.violations.emplace_back("was not reached again");
          for (const std::string& what : verdict.violations)
            violation(order.point + " (" + order.story + ", visit " + std::to_string(order.nth) + ")", what);
          if (options_.verbose) {
            const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
            std::printf("%5.1f s %s (%s, visit %ld)\n", took.count(), order.point.c_str(),
                        order.story.c_str(), order.nth);
            std::fflush(stdout);
          }
        }
      });
    }
    for (std::thread& thread : threads)
      thread.join();
  }

  void violation(const std::string& where, const std::string& what) {
    const std::lock_guard lock(mutex_);
    ++violations_;
    std::printf("VIOLATION at %s: %s\n", where.c_str(), what.c_str());
    std::fflush(stdout);
  }

  Options options_;
  std::map<std::string, std::vector<Place>> reached_;
  std::mutex mutex_;
  std::atomic<int> violations_{0};
};

}  // namespace

int main(int count, char** words) {
  Options options;
  for (int at = 1; at < count; ++at) {
    const std::string word = words[at];
    const bool more = at + 1 < count;
    if (word == "--times" && more) {
      options.times = std::strtol(words[++at], nullptr, 10);
    } else if (word == "--worlds" && more) {
      options.worlds = static_cast<int>(std::strtol(words[++at], nullptr, 10));
    } else if (word == "--points" && more) {
      options.points = words[++at];
    } else if (word == "--only" && more) {
      options.only = words[++at];
    } else if (word == "--story" && more) {
      options.story = words[++at];
    } else if (word == "--daemon" && more) {
      options.daemon = words[++at];
    } else if (word == "--list") {
      options.list = true;
    } else if (word == "--verbose") {
      options.verbose = true;
    } else if (word == "--until-found") {
      options.until_found = true;
    } else {
      std::fprintf(stderr, "unknown: %s\n", word.c_str());
      return 2;
    }
  }
  return Run(options).all();
}
