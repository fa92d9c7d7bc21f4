// threads: who may call whom, and when.
#include <atomic>
#include <vector>

#include "conform/attempt.hpp"
#include "conform/clients.hpp"
#include "conform/script.hpp"

namespace rmgr::conform {
namespace {

std::string own_thread(Context& context) {
  call_each(context, {}, [](const Answer&) {});
  provoke(context);
  const std::string where = witness().first(Breach::foreign_thread);
  expect(where.empty(), where + " was used on another thread than the call's own.");
  return "Sinks and errors were used on the thread of their call.";
}

std::string after_destroy(Context& context) {
  exercise(context, 1);
  std::this_thread::sleep_for(Millis(300));
  const std::string where = witness().first(Breach::after_destroy);
  expect(where.empty(), "The service " + where + " was used after the instance had ended.");
  return "No service was used after the instance had ended.";
}

// The first failure of several threads.
class Failures {
 public:
  void add(const Answer& answer) {
    if (answer.ok()) return;
    const std::lock_guard lock(mutex_);
    if (first_.empty()) first_ = answer.text();
  }
  void expect_none(const std::string& when) const { expect(first_.empty(), when + " " + first_ + "."); }

 private:
  std::mutex mutex_;
  std::string first_;
};

void on_threads(int count, const std::function<void(int)>& fn) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&fn, i] { fn(i); });
  for (std::thread& thread : threads)
    thread.join();
}

// One thread for each lane, which may always overlap.
std::string lanes(Context& context) {
  Failures failures;
  const int rounds = context.plan.repeat;
  if (context.interface == "execution-provider") {
    Provider provider(context);
    provider.need_ready(context);
    on_threads(2, [&](int lane) {
      for (int i = 0; i < rounds; ++i) {
        rmgr_probe probe{};
        rmgr_environment_state state{};
        std::string remedy;
        std::vector<Owned> owned;
        const Attempt attempt = make_attempt(context, Mode::waits);
        failures.add(lane == 0 ? provider.probe(probe, remedy) : provider.inspect(attempt, state));
        if (lane == 1) failures.add(provider.enumerate(attempt.host, owned));
      }
    });
  } else {
    GatewayClient gateway(context);
    on_threads(2, [&](int lane) {
      for (int i = 0; i < rounds; ++i) {
        std::vector<Runner> runners;
        failures.add(lane == 0 ? gateway.inventory(runners) : gateway.deregister(999'999'000 + i));
      }
    });
  }
  failures.expect_none("While both lanes were busy");
  return "Both lanes ran side by side.";
}

std::string concurrent(Context& context) {
  constexpr int count = 6;
  const auto& part = component(context, load(context));
  if ((part.flags & RMGR_COMPONENT_CONCURRENT) == 0) skip("It does not declare that calls may overlap.");
  Failures failures;
  if (context.interface == "execution-provider") {
    Provider provider(context);
    provider.need_machine();
    on_threads(count, [&](int) {
      rmgr_environment_state state{};
      failures.add(provider.inspect(make_attempt(context, Mode::waits), state));
    });
  } else if (context.interface == "gateway") {
    GatewayClient gateway(context);
    on_threads(count, [&](int) {
      std::vector<Runner> runners;
      int jobs = 0;
      failures.add(gateway.inventory(runners));
      failures.add(gateway.demand(jobs));
    });
  } else {
    SourceClient source(context);
    const Package package = source.first();
    on_threads(count, [&](int) {
      std::vector<Package> packages;
      Fetched fetched;
      failures.add(source.catalog(packages));
      failures.add(source.fetch(package.ref, 0, "", fetched));
    });
  }
  failures.expect_none("While calls overlapped");
  return std::to_string(count) + " calls of one lane ran at once.";
}

}  // namespace

Tests thread_tests() {
  return {
      {"threads.own",
       "Sinks and errors are used on the thread of their call.",
       for_each,
       &own_thread,
       {"config.accepted", "errors.contained"}},
      {"threads.after_destroy",
       "No service is used once the instance has ended.",
       for_each,
       &after_destroy,
       {"config.destroy"}},
      {"threads.lanes",
       "The ordinary and the control lane may run side by side.",
       for_provider | for_gateway,
       &lanes,
       {"config.accepted", "errors.contained"}},
      {"threads.concurrent",
       "A component that says so takes several calls at once.",
       for_each,
       &concurrent,
       {"config.accepted", "errors.contained"}},
  };
}

}  // namespace rmgr::conform
