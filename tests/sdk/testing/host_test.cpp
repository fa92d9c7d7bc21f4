// The host for plugin authors: a plugin that breaks one rule after the other, each of which must be reported.
#include "rmgr/testing/host.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <thread>

#include "rmgr/testing/real_processes.hpp"

namespace {

using rmgr::Status;
using rmgr::testing::CallControl;
using rmgr::testing::Host;

// What the next probe does; each test sets its own.
struct Probe {
  const rmgr_call* call;
  const rmgr_probe_sink* sink;
  const rmgr_error* error;
  const rmgr_instance_host* host;
  rmgr_status ready() const {
    const rmgr_probe answer{sizeof(rmgr_probe), RMGR_PROBE_READY, {}, {}, 0, 0};
    return sink->write(sink->ctx, &answer);
  }
  template <class Service>
  const Service* service(const char* id) const {
    return static_cast<const Service*>(host->get_service(host->ctx, id));
  }
  void explain(const char* text) const { error->set(error->ctx, {text, std::strlen(text)}, 0); }
};
std::function<rmgr_status(const Probe&)> behaviour;
const rmgr_instance_host* instance_host = nullptr;

rmgr_str view(const char* text) { return {text, std::strlen(text)}; }

rmgr_status probe(rmgr_instance*, const rmgr_call* call, const rmgr_profile*, const rmgr_probe_sink* sink,
                  const rmgr_error* error) {
  return behaviour({call, sink, error, instance_host});
}
constexpr rmgr_execution_provider make_table() {
  rmgr_execution_provider made{};
  made.component = {sizeof(rmgr_execution_provider), 0, [] { return view(R"({"type": "object"})"); },
                    [](const rmgr_instance_host* host, rmgr_str, rmgr_instance** out, const rmgr_error*) {
                      static int instance = 0;
                      instance_host = host;
                      *out = reinterpret_cast<rmgr_instance*>(&instance);
                      return RMGR_OK;
                    },
                    [](rmgr_instance*) {}};
  made.probe = &probe;
  made.prepare = [](auto...) -> rmgr_status { return RMGR_OK; };
  made.start = [](auto...) -> rmgr_status { return RMGR_OK; };  // leaves its result as it is
  made.inspect = [](auto...) -> rmgr_status { return RMGR_OK; };
  made.stop = [](auto...) -> rmgr_status { return RMGR_OK; };
  made.remove = [](auto...) -> rmgr_status { return RMGR_OK; };
  return made;
}
constexpr rmgr_execution_provider table = make_table();
constexpr const char* interfaces[] = {RMGR_INTERFACE_EXECUTION_PROVIDER, nullptr};
constexpr rmgr_descriptor descriptor{sizeof(rmgr_descriptor), 0, "naughty", "1.0.0", "", interfaces};
constexpr rmgr_plugin_entry_t entry{
    RMGR_PLUGIN_MAGIC,
    RMGR_ABI_MAJOR,
    RMGR_ABI_MINOR,
    RMGR_ABI_MINOR,
    0,
    sizeof(rmgr_plugin_entry_t),
    &descriptor,
    [](const rmgr_host*, const rmgr_error*) { return RMGR_OK; },
    [] {},
    [](const char* id) -> const void* {
      return std::string_view(id) == RMGR_INTERFACE_EXECUTION_PROVIDER ? &table : nullptr;
    }};

// What a probe of that behaviour is reproached with.
std::string reproach(std::function<rmgr_status(const Probe&)> chosen, CallControl control = CallControl()) {
  behaviour = std::move(chosen);
  Host host;
  host.set_secret("file:/token", "the-needle");
  (void)host.load(entry).provider("one", "{}").probe({}, std::move(control));
  std::string all;
  for (const std::string& violation : host.violations())
    all += violation + "\n";
  return all;
}

TEST(TestingHost, ReportsNothingOfAPluginThatBehaves) {
  EXPECT_EQ(reproach([](const Probe& probe) { return probe.ready(); }), "");
  EXPECT_EQ(reproach([](const Probe& probe) {
              probe.explain("It is closed; come back.");
              return RMGR_E_RETRY;
            }),
            "");
}

TEST(TestingHost, ReportsEachBrokenRule) {
  struct Case {
    const char* words;
    std::function<rmgr_status(const Probe&)> behaviour;
  };
  const Case cases[] = {
      {"exactly one readiness", [](const Probe&) { return RMGR_OK; }},
      {"exactly one readiness",
       [](const Probe& probe) {
         probe.ready();
         return probe.ready();
       }},
      {"failed without a message", [](const Probe&) { return RMGR_E_RETRY; }},
      {"unknown status 99", [](const Probe&) { return rmgr_status{99}; }},
      {"explained a failure twice",
       [](const Probe& probe) {
         probe.explain("One.");
         probe.explain("Two.");
         return RMGR_E_RETRY;
       }},
      {"returned success",
       [](const Probe& probe) {
         probe.explain("One.");
         return probe.ready();
       }},
      {"control character",
       [](const Probe& probe) {
         probe.explain("Two\nlines.");
         return RMGR_E_RETRY;
       }},
      {"not UTF-8",
       [](const Probe& probe) {
         probe.explain("\xC0\x80");
         return RMGR_E_RETRY;
       }},
      {"a secret in it",
       [](const Probe& probe) {
         probe.explain("The token the-needle was refused.");
         return RMGR_E_UNAUTHORIZED;
       }},
      {"log: a text with a secret",
       [](const Probe& probe) {
         const auto* log = probe.service<rmgr_log_service>(RMGR_SERVICE_LOG);
         log->write(log->ctx, RMGR_LOG_INFO, view("using the-needle"));
         return probe.ready();
       }},
      {"without its size",
       [](const Probe& probe) {
         const rmgr_probe answer{};
         return probe.sink->write(probe.sink->ctx, &answer);
       }},
      {"names no remedy",
       [](const Probe& probe) {
         const rmgr_probe answer{sizeof(rmgr_probe), RMGR_PROBE_DEGRADED, {}, {}, 0, 0};
         return probe.sink->write(probe.sink->ctx, &answer);
       }},
      {"left 1 cancel functions registered",
       [](const Probe& probe) {
         probe.call->on_cancel(
             probe.call->ctx, [](void*) {}, nullptr);
         return probe.ready();
       }},
      {"never registered",
       [](const Probe& probe) {
         probe.call->off_cancel(probe.call->ctx, 5);
         return probe.ready();
       }},
      {"changed the umask",
       [](const Probe& probe) {
         ::umask(0077);
         return probe.ready();
       }},
      {"without the context of a running call",
       [](const Probe& probe) {
         const auto* clock = probe.service<rmgr_clock_service>(RMGR_SERVICE_CLOCK);
         clock->sleep_ms(clock->ctx, nullptr, 5);
         return probe.ready();
       }},
  };
  const mode_t mask = ::umask(0022);
  for (const Case& one : cases) {
    const std::string all = reproach(one.behaviour);
    EXPECT_NE(all.find(one.words), std::string::npos) << one.words << "\n" << all;
    ::umask(0022);
  }
  ::umask(mask);
}

TEST(TestingHost, ReportsWhatComesLate) {
  const rmgr_probe_sink* sink = nullptr;
  const rmgr_call* call = nullptr;
  const rmgr_log_service* log = nullptr;
  behaviour = [&](const Probe& probe) {
    sink = probe.sink;
    call = probe.call;
    log = probe.service<rmgr_log_service>(RMGR_SERVICE_LOG);
    return probe.ready();
  };
  Host host;
  {
    auto provider = host.load(entry).provider("one", "{}");
    EXPECT_TRUE(provider.probe().ok());
    const rmgr_probe answer{sizeof(rmgr_probe), RMGR_PROBE_READY, {}, {}, 0, 0};
    EXPECT_NE(sink->write(sink->ctx, &answer), RMGR_OK);
    EXPECT_EQ(call->requested(call->ctx), 1);
  }
  log->write(log->ctx, RMGR_LOG_INFO, view("still here"));
  const auto violations = host.violations();
  ASSERT_EQ(violations.size(), 3U);
  EXPECT_EQ(violations[0], "probe: wrote to a sink after it had returned");
  EXPECT_EQ(violations[1], "probe: asked for cancel after it had returned");
  EXPECT_EQ(violations[2], "log: was used after the instance had ended");
}

TEST(TestingHost, ASinkThatRefusesMustBeObeyed) {
  CallControl full;
  full.refuse_items_after(0, Status::retry);
  EXPECT_EQ(reproach([](const Probe& probe) { return probe.ready(); }, full), "");
  CallControl again;
  again.refuse_items_after(0, Status::retry);
  const std::string all = reproach(
      [](const Probe& probe) {
        (void)probe.ready();
        (void)probe.ready();
        return RMGR_OK;
      },
      again);
  EXPECT_NE(all.find("had refused an item"), std::string::npos);
  EXPECT_NE(all.find("did not return the status"), std::string::npos);
}

TEST(TestingHost, ChecksResultsThatAreNotFilledIn) {
  Host host;
  auto provider = host.load(entry).provider("one", "{}");
  const auto attempt = host.attempt();
  (void)provider.start(attempt, "a-secret-value");
  (void)provider.inspect(attempt);
  const auto violations = host.take_violations();
  ASSERT_EQ(violations.size(), 2U);
  EXPECT_EQ(violations[0], "start: did not fill in its result");
  EXPECT_EQ(violations[1], "inspect: answered an unknown state");
  EXPECT_TRUE(host.violations().empty());
}

TEST(TestingHost, TimeIsTheTests) {
  Host host;
  behaviour = [](const Probe& probe) {
    const auto* clock = probe.service<rmgr_clock_service>(RMGR_SERVICE_CLOCK);
    return clock->sleep_ms(clock->ctx, probe.call, 10'000);
  };
  auto provider = host.load(entry).provider("one", "{}");
  const auto before = host.clock().boot();
  EXPECT_EQ(provider.probe({}, CallControl(rmgr::Millis{4'000})).status, Status::deadline);
  EXPECT_EQ(host.clock().boot() - before, rmgr::Millis{4'000});
  CallControl soon;
  soon.cancel_at_question(2);
  EXPECT_EQ(provider.probe({}, soon).status, Status::cancelled);

  // From another thread, while the plugin sleeps.
  host.clock().hold_sleepers();
  const CallControl control;
  std::thread other([&] {
    while (control.questions() < 2)
      std::this_thread::yield();
    control.cancel();
  });
  EXPECT_EQ(provider.probe({}, control).status, Status::cancelled);
  other.join();
  EXPECT_TRUE(host.take_violations().empty());
}

TEST(TestingHost, ServicesAnswerAsTheContractSays) {
  Host host;
  host.set_secret("file:/token", "the-needle");
  behaviour = [&](const Probe& probe) {
    const auto* kv = probe.service<rmgr_kv_service>(RMGR_SERVICE_KV);
    EXPECT_EQ(kv->put(kv->ctx, view("a.1"), view("x")), RMGR_OK);
    EXPECT_EQ(kv->put(kv->ctx, view("big"), {std::string(65'530, 'x').c_str(), 65'530}), RMGR_E_INVALID);
    EXPECT_EQ(kv->put(kv->ctx, view(""), view("x")), RMGR_E_INVALID);
    const auto* check = probe.service<rmgr_thread_check_service>(RMGR_SERVICE_THREAD_CHECK);
    EXPECT_EQ(check->in_call(check->ctx), 1);
    std::thread([&] { EXPECT_EQ(check->in_call(check->ctx), 0); }).join();
    const auto* secrets = probe.service<rmgr_secrets_service>(RMGR_SERVICE_SECRETS);
    const auto use = [](void*, rmgr_secret value) -> rmgr_status {
      return value.size == 10 ? RMGR_OK : RMGR_E_BUSY;
    };
    EXPECT_EQ(secrets->with_secret(secrets->ctx, view("file:/token"), use, nullptr, nullptr), RMGR_OK);
    EXPECT_EQ(secrets->with_secret(secrets->ctx, view("file:/other"), use, nullptr, nullptr),
              RMGR_E_NOT_FOUND);
    EXPECT_EQ(probe.service<void>(RMGR_SERVICE_PROCESS), nullptr);
    return probe.ready();
  };
  host.withhold(RMGR_SERVICE_PROCESS);
  const auto plugin = host.load(entry);
  EXPECT_TRUE(plugin.provider("one", "{}").probe().ok());
  EXPECT_EQ(host.kv("one"), (std::map<std::string, std::string>{{"a.1", "x"}}));
  EXPECT_TRUE(host.violations().empty());
}

TEST(TestingHost, RefusesWhatTheRealHostRefuses) {
  Host host;
  rmgr_plugin_entry_t changed = entry;
  changed.abi_minor = RMGR_ABI_MINOR + 1;
  EXPECT_THROW((void)host.load(changed), rmgr::Error);
  changed = entry;
  changed.magic = 1;
  EXPECT_THROW((void)host.load(changed), rmgr::Error);
  changed = entry;
  changed.init = [](const rmgr_host*, const rmgr_error* error) {
    error->set(error->ctx, view("Closed today."), 0);
    return RMGR_E_UNSUPPORTED;
  };
  EXPECT_THROW((void)host.load(changed), rmgr::Error);
  EXPECT_THROW((void)host.load(std::string("/nonexistent.so")), rmgr::Error);
  EXPECT_THROW((void)host.load(entry).gateway("one", "{}"), rmgr::Error);
  EXPECT_TRUE(host.violations().empty());
}

// All three interfaces of a plugin that behaves, through dlopen.
TEST(TestingHost, TheSampleBehaves) {
  Host host;
  const auto plugin = host.load(std::string(RMGR_PLUGIN_DIR "/sample.so"));
  EXPECT_EQ(plugin.id(), "sample");
  EXPECT_EQ(plugin.interfaces().size(), 3U);
  auto gateway = plugin.gateway("hub", "{}");
  EXPECT_EQ(gateway.demand("acme/widgets").value.jobs.size(), 1U);
  rmgr::RegistrationRequest request;
  request.target = "acme/widgets";
  request.name = "runner";
  const auto registered = gateway.register_runner(request);
  EXPECT_TRUE(registered.ok());
  EXPECT_EQ(gateway.register_runner(request).status, Status::exists);
  EXPECT_EQ(gateway.inventory("acme/widgets").value.size(), 1U);
  EXPECT_TRUE(gateway.deregister("acme/widgets", registered.value.runner_id).ok());
  auto source = plugin.package_source("packages", "{}");
  const auto packages = source.catalog({"", "linux", "x64"}).value;
  ASSERT_EQ(packages.size(), 1U);
  EXPECT_EQ(source.fetch(packages[0].ref).value.bytes, "sample package bytes");
  EXPECT_EQ(source.fetch(packages[0].ref, 7).value.bytes, "package bytes");
  EXPECT_TRUE(host.violations().empty());
}

}  // namespace
