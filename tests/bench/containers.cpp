#include "bench/containers.hpp"

#include <algorithm>

#include <chrono>
#include <cstdio>
#include <stdexcept>

#include "bench/numbers.hpp"
#include "oci/sandbox.hpp"
#include "oci/settings.hpp"
#include "support/engine.hpp"
#include "support/engine/client.hpp"
#include "support/engine/patience.hpp"

namespace bench {

namespace {

using Clock = std::chrono::steady_clock;
using Values = std::vector<double>;

constexpr int rounds = 3;
constexpr int engine_tries = 10;

// What the engine takes to create the same container, to attach to it and to start it.
Values engine_alone(const testkit::TestEngine& engine) {
  plugins::engine::Client client({*plugins::engine::parse_address("unix://" + engine.socket), std::nullopt});
  const oci::Settings settings =
      oci::parse_settings(std::string("{\"runner_path\":\"") + testkit::package_path + "\"}");
  const plugins::engine::Patience patience(std::chrono::minutes(5));
  const rmgr::Call call = patience.call();
  const std::string network = client.create_network(call, "rmgr-bench", {});
  Values took;
  for (int index = 0; index < engine_tries; ++index) {
    rmgr::Allocation allocation;
    const std::string name = "rmgr-bench-" + std::to_string(index);
    allocation.image = engine.full_image;
    const auto spec = oci::sandbox_of(settings.common, allocation, "rmgr-bench");
    const auto begin = Clock::now();
    const std::string id = client.create_container(call, name, spec);
    // Kept until it is removed: an end of its input would end it meanwhile.
    const auto attached = client.attach(call, id);
    client.start_container(call, id);
    took.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    client.remove_container(call, id);
  }
  client.remove_network(call, network);
  return took;
}

struct Way {
  Values beyond_registration{}, queued_to_exec{};
  int queued = 0, completed = 0, leftovers = 0;
  std::int64_t peak_rss_bytes = 0;
};

Way run(demo::ShowOptions options, bool package_inside, int warm) {
  options.package_inside = package_inside;
  options.warm = warm;
  const demo::ShowResult result = demo::show(options);
  if (result.timings.empty()) throw std::runtime_error("no job ran");
  Way way{.queued = result.queued,
          .completed = result.completed,
          .leftovers = result.leftovers.sum(),
          .peak_rss_bytes = result.peak_rss_bytes};
  for (const demo::Timing& timing : result.timings) {
    const auto& at = timing.attempt;
    const std::int64_t registered_from = std::max(at.prepared_ms, at.demand_seen_ms);
    way.beyond_registration.push_back(static_cast<double>(timing.exec_ms - timing.known_ms) -
                                      static_cast<double>(at.registered_ms - registered_from));
    way.queued_to_exec.push_back(static_cast<double>(timing.exec_ms - timing.queued_ms));
  }
  return way;
}

void append(Values& all, const Values& more) { all.insert(all.end(), more.begin(), more.end()); }

void append(Way& all, const Way& more) {
  append(all.beyond_registration, more.beyond_registration);
  append(all.queued_to_exec, more.queued_to_exec);
  all.queued += more.queued;
  all.completed += more.completed;
  all.leftovers += more.leftovers;
  all.peak_rss_bytes = std::max(all.peak_rss_bytes, more.peak_rss_bytes);
}

}  // namespace

int containers(const demo::ShowOptions& options) {
  const auto engine = testkit::test_engine();
  if (!engine || engine->full_image.empty())
    throw std::runtime_error("start this by scripts/bench, which starts an engine with a full image");
  Way inside, warm, copied;
  Values alone, ratio_inside, ratio_warm, ratio_copied;
  for (int round = 0; round < rounds; ++round) {
    const Values own = engine_alone(*engine);
    append(alone, own);
    const auto measure = [&](Way& way, Values& ratios, bool package_inside, int waiting) {
      const Way once = run(options, package_inside, waiting);
      ratios.push_back(median(once.beyond_registration) / median(own));
      append(way, once);
    };
    measure(inside, ratio_inside, true, 0);
    measure(warm, ratio_warm, true, options.capacity - 1);
    measure(copied, ratio_copied, false, 0);
  }
  const int queued = inside.queued + warm.queued + copied.queued;
  const int completed = inside.completed + warm.completed + copied.completed;
  const int leftovers = inside.leftovers + warm.leftovers + copied.leftovers;
  std::printf("{\"engine\": \"%s\", \"jobs\": %d, \"completed\": %d, \"leftovers\": %d, ",
              engine->name.c_str(), queued, completed, leftovers);
  std::printf(
      "\"engine_ms\": %.0f, \"known_to_exec_less_register_ms\": {\"inside\": %.0f, \"warm\": %.0f, "
      "\"copied\": %.0f}, ",
      median(alone), median(inside.beyond_registration), median(warm.beyond_registration),
      median(copied.beyond_registration));
  std::printf("\"queued_to_exec_ms\": {\"inside\": %.0f, \"warm\": %.0f, \"copied\": %.0f}, ",
              median(inside.queued_to_exec), median(warm.queued_to_exec), median(copied.queued_to_exec));
  std::printf(
      "\"ratio_engine\": %.2f, \"ratio_warm\": %.2f, \"ratio_copied\": %.2f, \"copy_ms\": %.0f, "
      "\"peak_rss_bytes\": %lld}\n",
      median(ratio_inside), median(ratio_warm), median(ratio_copied),
      median(copied.beyond_registration) - median(inside.beyond_registration),
      static_cast<long long>(std::max({inside.peak_rss_bytes, warm.peak_rss_bytes, copied.peak_rss_bytes})));
  return completed == queued && leftovers == 0 ? 0 : 1;
}

}  // namespace bench
