// Providers with one defect each, chosen by a definition: they keep to the form of the boundary and break a
// rule that is only visible in what they do. All else is the sample's provider.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <thread>

#include "zoo/sample/sample.hpp"

namespace {

using rmgr::Allocation;
using rmgr::Call;

class Defective : public sample::Provider {
 public:
#if defined(DEFECT_ACCEPTS_UNKNOWN_KEYS)
  static constexpr std::string_view config_schema = R"({"type": "object", "additionalProperties": true})";
#elif defined(DEFECT_IGNORES_REQUIRED)
  static constexpr std::string_view config_schema =
      R"({"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]})";
#endif

  Defective(rmgr::Host host, std::string_view config) : Provider(host, config) {
#if defined(DEFECT_LEAKS_DESCRIPTORS)
    static_cast<void>(::open("/dev/null", O_RDONLY | O_CLOEXEC));
#elif defined(DEFECT_LEAVES_THREADS)
    std::thread([] { std::this_thread::sleep_for(std::chrono::minutes(10)); }).detach();
#elif defined(DEFECT_CHANGES_SIGNALS)
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
#elif defined(DEFECT_CHANGES_DIRECTORY)
    static_cast<void>(!::chdir("/"));
#elif defined(DEFECT_CHANGES_UMASK)
    ::umask(0011);
#elif defined(DEFECT_CHANGES_ENVIRONMENT)
    ::setenv("ZOO_WAS_HERE", "1", 1);
#elif defined(DEFECT_CHANGES_LOCALE)
    std::setlocale(LC_ALL, "C.UTF-8");
#elif defined(DEFECT_PRINTS)
    std::fputs("hello from the zoo\n", stderr);
#elif defined(DEFECT_LEAVES_CHILDREN)
    if (::fork() == 0) {
      // It outlives the call and not the process: whoever waits for that one's output must not wait for this.
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::sleep(600);
      ::_exit(0);
    }
#elif defined(DEFECT_NEEDS_CLOCK)
    const auto* const clock = host.find<rmgr_clock_service>(RMGR_SERVICE_CLOCK);
    static_cast<void>(clock->wall_ms(clock->ctx));
#endif
  }

#if defined(DEFECT_CRASHES_ON_DESTROY)
  ~Defective() override { std::abort(); }

#elif defined(DEFECT_PAST_DEADLINE)
  // Believes that preparing is worth five seconds, whatever it was allowed.
  std::optional<std::string> prepare(const Call& call, const Allocation& allocation) override {
    if (call.remaining() < rmgr::Millis(5'000)) std::this_thread::sleep_for(rmgr::Millis(5'000));
    return Provider::prepare(call, allocation);
  }

#elif defined(DEFECT_IGNORES_CANCEL)
  void stop(const Call& call, const Allocation& allocation, rmgr::Millis grace) override {
    if (grace > rmgr::Millis(10'000)) std::this_thread::sleep_for(grace);
    Provider::stop(call, allocation, grace);
  }

#elif defined(DEFECT_REUSES_SECRET)
  void start(const Call& call, const Allocation& allocation, rmgr::SecretView secret,
             rmgr::StartResult& result) override {
    if (secret_.empty()) secret_ = secret.reveal();
    Provider::start(call, allocation, rmgr::SecretView(std::string_view(secret_)), result);
  }

#elif defined(DEFECT_SECRET_IN_IDENTITY)
  void start(const Call& call, const Allocation& allocation, rmgr::SecretView secret,
             rmgr::StartResult& result) override {
    secret_ = secret.reveal();
    Provider::start(call, allocation, secret, result);
  }
  std::vector<rmgr::Owned> enumerate_owned(const Call& call, std::string_view host) override {
    auto owned = Provider::enumerate_owned(call, host);
    for (rmgr::Owned& one : owned)
      one.environment += secret_;
    return owned;
  }

#elif defined(DEFECT_MISSING_ON_ERROR)
  rmgr::EnvironmentState inspect(const Call& call, const Allocation& allocation) override {
    try {
      return Provider::inspect(call, allocation);
    } catch (const rmgr::Error&) {
      return {};
    }
  }

#elif defined(DEFECT_FORGETS)
  // Knows only what it prepared itself, in this process.
  std::optional<std::string> prepare(const Call& call, const Allocation& allocation) override {
    mine_.emplace(allocation.attempt);
    return Provider::prepare(call, allocation);
  }
  rmgr::EnvironmentState inspect(const Call& call, const Allocation& allocation) override {
    return mine_.contains(std::string(allocation.attempt)) ? Provider::inspect(call, allocation)
                                                           : rmgr::EnvironmentState{};
  }

#elif defined(DEFECT_NOT_IDEMPOTENT)
  void stop(const Call& call, const Allocation& allocation, rmgr::Millis grace) override {
    if (Provider::inspect(call, allocation).status == rmgr::EnvironmentStatus::exited)
      throw rmgr::Error(rmgr::Status::not_found, "The runner has ended already.");
    Provider::stop(call, allocation, grace);
  }

#elif defined(DEFECT_RUNS_WHEN_HELD)
  rmgr::EnvironmentState inspect(const Call& call, const Allocation& allocation) override {
    const auto state = Provider::inspect(call, allocation);
    const bool held = allocation.process && state.status == rmgr::EnvironmentStatus::prepared;
    return held ? rmgr::EnvironmentState{rmgr::EnvironmentStatus::running} : state;
  }
#endif

 private:
  [[maybe_unused]] std::string secret_;
  [[maybe_unused]] std::set<std::string> mine_;
};

}  // namespace

RMGR_PLUGIN(Defective);
