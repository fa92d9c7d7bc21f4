// Exceptions at the boundary, calls that do not come back, and the services of the host as a plugin sees
// them.
#include <sys/stat.h>

#include <future>
#include <map>
#include <optional>
#include <thread>

#include "unit/plugin/fixture.hpp"

namespace {

using namespace fixture;
using domain::ErrorCode;
using domain::InstanceName;
using domain::Result;
using plugin::ComponentKind;
using plugin::PluginHost;

class MemoryKv final : public plugin::KvPort {
 public:
  Result<std::optional<std::string>> get(const InstanceName& name, std::string_view key) override {
    const auto found = values_.find(name.str() + "\n" + std::string(key));
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }
  Result<void> put(const InstanceName& name, std::string_view key, std::string_view value) override {
    values_[name.str() + "\n" + std::string(key)] = value;
    return {};
  }
  Result<void> remove(const InstanceName& name, std::string_view key) override {
    values_.erase(name.str() + "\n" + std::string(key));
    return {};
  }
  Result<std::vector<std::string>> list(const InstanceName& name, std::string_view prefix) override {
    std::vector<std::string> keys;
    for (const auto& [key, value] : values_) {
      if (key.starts_with(name.str() + "\n" + std::string(prefix)))
        keys.push_back(key.substr(name.str().size() + 1));
    }
    return keys;
  }

 private:
  std::map<std::string, std::string> values_;
};

class ScriptedProcess final : public plugin::ProcessPort {
 public:
  Result<domain::ProcessIdentity> spawn_held(plugin::Call&, const plugin::ProcessRequest& request) override {
    EXPECT_EQ(request.key, "key");
    EXPECT_EQ(request.argv, (std::vector<std::string>{"/bin/true", "x"}));
    EXPECT_EQ(request.environment, (std::vector<std::string>{"A=B"}));
    EXPECT_EQ(request.uid, 12U);
    EXPECT_EQ(request.gid, std::nullopt);
    EXPECT_EQ(request.cpu_milli, 1500);
    EXPECT_EQ(request.memory_bytes, 4096);
    EXPECT_EQ(request.pids, 7);
    EXPECT_EQ(request.nice, 5);
    EXPECT_TRUE(request.no_new_privileges);
    EXPECT_EQ(request.resource_limits, (decltype(request.resource_limits){{"core", 0}}));
    EXPECT_EQ(request.hidden_directories, (std::vector<std::string>{"/hidden"}));
    EXPECT_EQ(request.private_directories,
              (decltype(request.private_directories){{"/tmp", "/backing"}, {"/dev/shm", ""}}));
    return identity;
  }
  Result<void> release(plugin::Call&, std::string_view key, const domain::ProcessIdentity& who,
                       std::string_view name, std::string_view secret) override {
    EXPECT_EQ(key, "key");
    EXPECT_EQ(who, identity);
    EXPECT_EQ(name, "SECRET");
    EXPECT_EQ(secret, "s3");
    return {};
  }
  Result<plugin::EnvironmentState> inspect(plugin::Call&, std::string_view, const domain::ProcessIdentity&,
                                           int& signal) override {
    signal = 0;
    plugin::EnvironmentState state;
    state.view = domain::EnvironmentView::exited;
    state.exit_code = 4;
    return state;
  }
  Result<void> stop(plugin::Call&, std::string_view, const domain::ProcessIdentity&,
                    domain::Millis grace) override {
    EXPECT_EQ(grace, domain::Millis{5});
    return domain::Error{ErrorCode::busy, "Something runs.", {}};
  }
  Result<void> forget(std::string_view key) override {
    forgotten = key;
    return {};
  }
  [[nodiscard]] plugin::ProcessAbilities abilities() const override {
    return {.limit_memory = true, .change_account = true};
  }
  const domain::ProcessIdentity identity{77, 8, domain::BootId("boot")};
  std::string forgotten;
};

class Moody : public testing::Test {
 protected:
  Moody() {
    plugin::HostOptions chosen = options();
    chosen.kv = &kv;
    chosen.process = &process;
    chosen.work_directory = directory / "work";
    chosen.lane.grace = domain::Millis{30};
    host.emplace(chosen, log);
    EXPECT_TRUE(host->add_instance(spec("moody")));
    provider = host->provider(InstanceName("moody-1"));
  }
  // What the probe of a policy answers as its note, or "error: " and the message.
  std::string act(const std::string& name, const std::string& image = "") {
    const auto answer = provider->probe(context, policy(name, image));
    return answer ? answer->note : "error: " + answer.error().message;
  }
  TempDirectory directory;
  MemoryKv kv;
  ScriptedProcess process;
  RecordingLog log;
  plugin::Call context{"call-7", std::chrono::steady_clock::now() + std::chrono::minutes(5)};
  std::optional<PluginHost> host;
  plugin::ExecutionProvider* provider = nullptr;
};

TEST_F(Moody, ExceptionsBecomeStatuses) {
  const auto error = [&](const char* name) { return provider->probe(context, policy(name)).error(); };
  EXPECT_EQ(error("throw-error").code, ErrorCode::unauthorized);
  EXPECT_EQ(error("throw-error").message, "The token was?rejected.");
  EXPECT_EQ(error("throw-error").retry_after, std::chrono::seconds(3));
  EXPECT_EQ(error("throw-memory").code, ErrorCode::retry);
  EXPECT_EQ(error("throw-std").code, ErrorCode::internal);
  EXPECT_EQ(error("throw-std").message, "a standard exception");
  EXPECT_EQ(error("throw-int").code, ErrorCode::internal);
  EXPECT_EQ(error("throw-ok").code, ErrorCode::internal);
  const domain::Attempt one = attempt();
  const plugin::Allocation allocation{&one, domain::InstallationId("host"), "/package"};
  EXPECT_EQ(provider->stop(context, allocation, domain::Millis{1}).error().code, ErrorCode::busy);
  EXPECT_EQ(provider->remove(context, allocation).error().retry_after, std::chrono::seconds(7));
  const auto failed = provider->start(context, allocation, "jit");
  EXPECT_EQ(failed->error.code, ErrorCode::unreachable);
  EXPECT_TRUE(failed->process_existed);
  EXPECT_FALSE(*provider->prepare(context, allocation));
}

TEST_F(Moody, TheNameAndTheCorrelationArrive) { EXPECT_EQ(act("name"), "moody-1 call-7"); }

TEST_F(Moody, LogLinesCarryTheInstance) {
  EXPECT_EQ(act("log"), "logged");
  const auto lines = log.lines();
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[1].event, observe::Event::plugin_message);
  EXPECT_EQ(lines[1].level, observe::Level::debug);
  EXPECT_EQ(lines[2].level, observe::Level::warning);
  EXPECT_EQ(lines[2].text, "moody|moody-1|two?lines");
}

TEST_F(Moody, TheClockIsSaneAndSleepEndsWithTheCall) {
  EXPECT_EQ(act("clock"), "sane");
  std::thread canceller([&] { context.cancel(); });
  const auto cancelled = provider->probe(context, policy("sleep"));
  canceller.join();
  EXPECT_EQ(cancelled.error().code, ErrorCode::cancelled);
  plugin::Call brief("brief", std::chrono::steady_clock::now() + std::chrono::milliseconds(30));
  EXPECT_EQ(provider->probe(brief, policy("sleep")).error().code, ErrorCode::deadline);
}

TEST_F(Moody, SecretsAreReadByReference) {
  write_file(directory / "token", "0123456789\n");
  ::chmod((directory / "token").c_str(), 0600);
  EXPECT_EQ(act("secret", "file:" + directory / "token"), "10");
  write_file(directory / "token", "refuse");
  const auto disliked = provider->probe(context, policy("secret", "file:" + directory / "token"));
  EXPECT_EQ(disliked.error().code, ErrorCode::denied);
  EXPECT_EQ(disliked.error().message, "The plugin dislikes the value.");
  EXPECT_EQ(provider->probe(context, policy("secret", "file:/nonexistent/x")).error().code,
            ErrorCode::not_found);
}

TEST_F(Moody, KvIsTheInstancesOwn) {
  EXPECT_EQ(act("kv"), "none;one;a/1;refused");
  EXPECT_EQ(**kv.get(InstanceName("moody-1"), "b"), "three");
}

TEST_F(Moody, TheWorkDirectoryIsPrivate) {
  const std::string path = act("directory");
  EXPECT_EQ(path, directory / "work/moody-1");
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_TRUE(S_ISDIR(info.st_mode));
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
  EXPECT_EQ(act("directory"), path);
  std::filesystem::remove(path);
  std::filesystem::create_symlink("/tmp", path);
  EXPECT_NE(act("directory").find("something else than a directory"), std::string::npos);
}

TEST_F(Moody, TheThreadCheckKnowsItsThreads) { EXPECT_EQ(act("thread"), "inout"); }

TEST_F(Moody, ProcessesGoThroughThePort) {
  EXPECT_EQ(act("process"), "77boot4 busy: Something runs. 20");
  EXPECT_EQ(process.forgotten, "key");
}

TEST_F(Moody, AServiceThatIsMissingIsUnsupported) {
  PluginHost bare(options(), log);
  ASSERT_TRUE(bare.add_instance(spec("moody")));
  plugin::ExecutionProvider* other = bare.provider(InstanceName("moody-1"));
  for (const char* name : {"kv", "directory", "process"})
    EXPECT_EQ(other->probe(context, policy(name)).error().code, ErrorCode::unsupported) << name;
}

TEST_F(Moody, ACallThatDoesNotComeBackMakesTheInstanceStuck) {
  const InstanceName name("moody-1");
  std::promise<ErrorCode> answered;
  host->ordinary_lane(name)->submit<plugin::Probe>(
      "c", domain::Millis{10},
      [this](plugin::Call& call) { return provider->probe(call, policy("block", directory / "go")); },
      [&](Result<plugin::Probe> probe) {
        answered.set_value(probe ? ErrorCode::exists : probe.error().code);
      });
  EXPECT_EQ(answered.get_future().get(), ErrorCode::deadline);
  EXPECT_TRUE(host->status()[0].stuck);
  // The control lane goes on.
  std::promise<bool> inspected;
  const domain::Attempt one = attempt();
  host->control_lane(name)->submit<plugin::EnvironmentState>(
      "c", domain::Millis{60'000},
      [&](plugin::Call& call) {
        return provider->inspect(call, plugin::Allocation{&one, domain::InstallationId("h"), "/p"});
      },
      [&](Result<plugin::EnvironmentState> state) { inspected.set_value(state.ok()); });
  EXPECT_TRUE(inspected.get_future().get());
  write_file(directory / "go", "");
  for (int i = 0; i < 3000 && host->status()[0].stuck; ++i)
    std::this_thread::sleep_for(domain::Millis{10});
  EXPECT_FALSE(host->status()[0].stuck);
}

TEST_F(Moody, TheEndOfTheHostLeavesAStuckCallItsInstance) {
  auto returned = std::make_shared<std::promise<void>>();
  auto answered = std::make_shared<std::promise<ErrorCode>>();
  const std::string go = directory / "go";
  // The last thing to go when the thread lets loose of the call.
  const std::shared_ptr<void> last(nullptr, [returned](void*) { returned->set_value(); });
  {
    auto work = [kept = last, provider = provider, go](plugin::Call& call) {
      return provider->probe(call, policy("block", go));
    };
    host->ordinary_lane(InstanceName("moody-1"))
        ->submit<plugin::Probe>("c", domain::Millis{1}, std::move(work),
                                [answered](Result<plugin::Probe> probe) {
                                  answered->set_value(probe ? ErrorCode::exists : probe.error().code);
                                });
  }
  EXPECT_EQ(answered->get_future().get(), ErrorCode::deadline);
  host.reset();
  write_file(go, "");
  const_cast<std::shared_ptr<void>&>(last).reset();
  EXPECT_EQ(returned->get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
}

}  // namespace
