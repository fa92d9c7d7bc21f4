#include "daemon/assembly.hpp"

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "crash_point.hpp"
#include "daemon/daemon.hpp"
#include "daemon/entropy.hpp"
#include "daemon/reload.hpp"
#include "plugin/crash_note.hpp"

namespace agent::daemon {

using domain::Millis;
using observe::Field;
using observe::Level;
using plugin::ComponentKind;

namespace {

constexpr Millis kLockPatience{1'000};

StartRefusal state_refusal(const std::string& message) {
  return {.exit_code = kExitState, .message = message};
}

// Makes a directory of ours (0700) below one that exists.
std::optional<StartRefusal> make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return std::nullopt;
  return state_refusal("the directory '" + path + "' cannot be made: " + std::strerror(errno) +
                       "; make its parent, or set `state` to a directory that this account may write");
}

std::string architecture() {
  utsname name{};
  if (::uname(&name) != 0) return "x64";
  const std::string machine = name.machine;
  if (machine == "aarch64") return "arm64";
  return machine.rfind("arm", 0) == 0 ? "arm" : "x64";
}

}  // namespace

Assembly::~Assembly() { shut_down(); }

bool Assembly::shut_down() {
  if (kv_) kv_->close();
  // All close before any is waited for. Answers of plugin lanes go on to the world's, so those end last.
  if (plugins_) plugins_->close_lanes();
  if (world_) world_->close_lanes();
  const bool plugins_back = !plugins_ || plugins_->finish_lanes();
  const bool world_back = !world_ || world_->finish_lanes();
  return plugins_back && world_back;
}

std::optional<StartRefusal> Assembly::start(const AssemblyInput& input) {
  if (auto refusal = open_state(input)) return refusal;
  if (auto refusal = load_plugins(input)) return refusal;
  return start_engine(input);
}

std::optional<StartRefusal> Assembly::open_state(const AssemblyInput& input) {
  const std::string& state = input.configuration->state_directory;
  for (const std::string& path :
       {state, state + "/processes", state + "/packages", state + "/plugins", state + "/records"}) {
    if (auto refusal = make_directory(path)) return refusal;
  }
  RMGR_CRASH_POINT("start.directories_made");
  auto lock = journal::StateLock::acquire(state, kLockPatience);
  if (!lock) return state_refusal(lock.error().message);
  lock_ = std::make_unique<journal::StateLock>(std::move(*lock));
  RMGR_CRASH_POINT("start.locked");
  auto reserve = journal::start_reserve(state);
  RMGR_CRASH_POINT("start.reserved");
  journal::OpenOptions open;
  open.path = state + "/journal.db";
  open.exclusive = false;
  open.installation = random_uuid();
  open.machine = machine_id();
  auto opened = journal::Journal::open(open);
  if (!opened && opened.error().code == domain::ErrorCode::full && reserve) {
    // What runs must be adopted, and ended when it is over, on a full disk too.
    reserve = opened.error();
    if (journal::give_up_reserve(state)) opened = journal::Journal::open(open);
  }
  if (!reserve && reserve.error().code == domain::ErrorCode::full) {
    reserve_missing_ = reserve.error().message;
  } else if (!reserve) {
    notices_.push_back(reserve.error().message);
  }
  if (!opened) return state_refusal(opened.error().message);
  journal_ = std::move(*opened);
  RMGR_CRASH_POINT("start.journal_opened");

  auto boot = process::current_boot();
  if (!boot) return state_refusal(boot.error().message);
  boot_ = *boot;

  process::Options options;
  options.shim = input.program_directory + "/rmgr-shim";
  options.record_directory = state + "/processes";
  options.cgroups = process::own_cgroups("runner-manager-" + journal_->installation().str().substr(0, 8));
  const auto post = input.post;
  auto processes = process::ProcessHost::create(options, [this, post](std::string key) {
    post([this, id = domain::AttemptId(std::move(key))] {
      if (engine_) engine_->on_exit_hint(id);
    });
  });
  if (!processes) return state_refusal(processes.error().message);
  processes_ = std::move(*processes);
  RMGR_CRASH_POINT("start.processes_opened");

  package::Options cache;
  cache.root = state + "/packages";
  cache.check_interval = input.configuration->package_check_interval;
  cache.pins = input.configuration->package_pins;
  // An agent that is not root has one account only, and so its jobs run under it.
  cache.shared_account = ::geteuid() != 0;
  cache.unpacker = input.program_directory + "/rmgr-unpack";
  auto opened_cache = package::Cache::open(cache);
  if (!opened_cache) return state_refusal(opened_cache.error().message);
  cache_ = std::move(*opened_cache);
  RMGR_CRASH_POINT("start.packages_opened");
  return std::nullopt;
}

std::optional<StartRefusal> Assembly::load_plugins(const AssemblyInput& input) {
  const config::Configuration& configuration = *input.configuration;
  quarantine_ = std::make_unique<Quarantine>(*journal_);
  const std::string notes = configuration.state_directory + "/plugins.crashed";
  auto noted = quarantine_->count_crashes(notes);
  if (noted) noted = plugin::leave_crash_notes(notes);
  if (!noted) notices_.push_back(noted.error().message);
  kv_ = std::make_unique<KvBridge>(*journal_, input.post, input.on_loop_thread);
  process_bridge_ = std::make_unique<ProcessBridge>(*processes_);
  plugin::HostOptions options;
  options.directories = configuration.plugin_directories;
  options.work_directory = configuration.state_directory + "/plugins";
  options.kv = kv_.get();
  options.process = process_bridge_.get();
  options.record = {.crashes = [this](std::string_view digest) { return quarantine_->crashes(digest); },
                    .in_use = [this](std::string_view digest) { quarantine_->in_use(digest); }};
  options.checker = input.program_directory + "/rmgr-plugin-check";
  plugins_ = std::make_unique<plugin::PluginHost>(std::move(options), log_);

  const auto add = [this](const std::vector<config::Instance>& instances,
                          ComponentKind kind) -> std::optional<StartRefusal> {
    for (const config::Instance& instance : instances) {
      if (!instance.enabled) continue;
      auto added = plugins_->add_instance({.name = instance.name,
                                           .kind = kind,
                                           .plugin = instance.plugin,
                                           .config_json = instance.config_json,
                                           .sha256 = instance.sha256,
                                           .required = instance.required});
      if (added) {
        log_.write(Level::info, observe::Event::instance_ready,
                   {{Field::instance, instance.name.str()}, {Field::plugin, instance.plugin}});
        continue;
      }
      log_.write(Level::error, observe::Event::instance_refused,
                 {{Field::instance, instance.name.str()},
                  {Field::plugin, instance.plugin},
                  {Field::message, added.error().message}});
      if (instance.required) return StartRefusal{.exit_code = kExitPlugin, .message = added.error().message};
    }
    return std::nullopt;
  };
  if (auto refusal = add(configuration.gateways, ComponentKind::gateway)) return refusal;
  if (auto refusal = add(configuration.package_sources, ComponentKind::package_source)) return refusal;
  return add(configuration.providers, ComponentKind::execution_provider);
}

domain::Result<std::vector<domain::Policy>> Assembly::resolve(std::vector<domain::Policy> policies) const {
  const auto refused = [](const domain::Policy& policy, const std::string& why) {
    return domain::Error{domain::ErrorCode::invalid, "policy '" + policy.name.str() + "'" + why, {}};
  };
  for (domain::Policy& policy : policies) {
    const plugin::ExecutionProvider* provider = plugins_->provider(policy.provider);
    if (provider != nullptr && provider->isolated()) policy.provider_kind = domain::ProviderKind::isolated;
    // Some rules depend on the kind of provider, which only its library knows.
    if (const auto broken = domain::check_policy(policy); !broken.empty())
      return refused(policy, ": " + broken.front());
  }
  return policies;
}

std::optional<StartRefusal> Assembly::start_engine(const AssemblyInput& input) {
  const config::Configuration& configuration = *input.configuration;
  RMGR_CRASH_POINT("start.plugins_loaded");
  auto policies = resolve(configuration.policies);
  if (!policies) return StartRefusal{.exit_code = kExitConfiguration, .message = policies.error().message};
  lifecycle::Surroundings surroundings;
  surroundings.plugins = plugins_.get();
  surroundings.cache = cache_.get();
  surroundings.vault = &vault_;
  surroundings.host = journal_->installation();
  surroundings.records = configuration.state_directory + "/records";
  surroundings.os = "linux";
  surroundings.architecture = architecture();
  performer_ = std::make_unique<lifecycle::Performer>(std::move(surroundings));

  WorldOptions world;
  world.state_directory = configuration.state_directory;
  world.own_directories = configuration.plugin_directories;
  world.own_directories.push_back(configuration.state_directory);
  world.installation = journal_->installation();
  world.boot = boot_;
  world_ = std::make_unique<DaemonWorld>(std::move(world), *performer_, vault_, *cache_, *plugins_, log_,
                                         input.post);

  engine_ = std::make_unique<reconcile::Engine>(engine_options(configuration), *world_, *journal_, log_);
  world_->connect(*engine_);
  if (auto started = engine_->start(std::move(*policies)); !started)
    return state_refusal(started.error().message);
  if (reserve_missing_) engine_->on_reserve({.held = false, .message = *reserve_missing_});
  RMGR_CRASH_POINT("start.engine_started");
  return std::nullopt;
}

}  // namespace agent::daemon
