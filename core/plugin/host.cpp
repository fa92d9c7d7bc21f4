#include "plugin/host.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "plugin/checker.hpp"
#include "plugin/instance.hpp"
#include "plugin/manifest.hpp"
#include "plugin/schema.hpp"
#include "rmgr/abi/execution_provider.h"
#include "rmgr/abi/gateway.h"
#include "rmgr/abi/package_source.h"

namespace agent::plugin {
namespace {

using domain::Error;
using domain::ErrorCode;

constexpr std::int64_t quarantine_after = 2;  // crashes in a row

bool usable_name(const std::string& name) {
  return !name.empty() && name.size() <= 64 && name.front() != '.' &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
             std::string::npos;
}

Error plugin_error(ErrorCode code, const std::string& plugin, const std::string& why) {
  return {code, "The plugin " + one_line(plugin, 128) + " cannot be used: " + why, {}};
}

// One configured instance. One facade is there when it is ready; the lanes keep it too, for calls that never
// come back.
struct Entry {
  InstanceStatus status;
  std::shared_ptr<ExecutionProvider> provider;
  std::shared_ptr<PackageSource> source;
  std::shared_ptr<Gateway> gateway;
  std::unique_ptr<Lane> ordinary;
  std::unique_ptr<Lane> control;
};

struct Loaded {
  std::shared_ptr<Library> library;  // null before it is loaded
  HashedFile file;
  std::string version;
};

// What was hashed, tried and loaded must be one file.
Result<void> still_that_file(const InstanceSpec& spec, const HashedFile& file) {
  if (file.unchanged()) return {};
  return plugin_error(
      ErrorCode::retry, spec.plugin,
      "the library " + file.path() + " was replaced or changed while it was in use; start the agent again.");
}

}  // namespace

const char* interface_of(ComponentKind kind) {
  switch (kind) {
    case ComponentKind::execution_provider: return RMGR_INTERFACE_EXECUTION_PROVIDER;
    case ComponentKind::package_source: return RMGR_INTERFACE_PACKAGE_SOURCE;
    case ComponentKind::gateway: return RMGR_INTERFACE_GATEWAY;
  }
  return "";
}

std::string_view to_string(ComponentKind kind) {
  switch (kind) {
    case ComponentKind::execution_provider: return "execution-provider";
    case ComponentKind::package_source: return "package-source";
    case ComponentKind::gateway: return "gateway";
  }
  return "execution-provider";
}

struct PluginHost::State {
  State(HostOptions chosen, observe::Log& where)
      : options(std::move(chosen)), log(where), ports(std::make_shared<Ports>(where, options)) {}

  HostOptions options;
  observe::Log& log;
  std::shared_ptr<Ports> ports;
  std::map<std::string, Loaded> libraries;  // by id
  std::map<domain::InstanceName, Entry> entries;

  Result<Discovered> find(const std::string& id) const;
  Result<Loaded> locate(const InstanceSpec& spec) const;
  Result<void> admit(const InstanceSpec& spec, const HashedFile& file) const;
  Result<void> load(const InstanceSpec& spec, Loaded& located);
  Result<void> make(const InstanceSpec& spec, Loaded& located, Entry& entry);
  Result<void> fill(const InstanceSpec& spec, Entry& entry);
  static Result<std::shared_ptr<void>> make_facade(ComponentKind kind, std::shared_ptr<Instance> instance,
                                                   Entry& entry);
  std::unique_ptr<Lane> make_lane(const InstanceSpec& spec, const char* which, std::uint32_t flags,
                                  std::shared_ptr<void> keep) const;
  Entry* ready(const domain::InstanceName& name);
};

Result<Discovered> PluginHost::State::find(const std::string& id) const {
  for (Discovered& found : discover_plugins(options.directories, options.trust_any_owner, options.abi)) {
    if (found.manifest.id != id) continue;
    if (found.refusal) return plugin_error(ErrorCode::invalid, id, *found.refusal);
    return Result<Discovered>(std::move(found));
  }
  return plugin_error(ErrorCode::not_found, id,
                      "there is no usable manifest of it in the plugin directories; install it.");
}

// The file of an instance, and its pin.
Result<Loaded> PluginHost::State::locate(const InstanceSpec& spec) const {
  const auto known = libraries.find(spec.plugin);
  Loaded located;
  if (known != libraries.end()) {
    located = known->second;
  } else {
    Result<Discovered> discovered = find(spec.plugin);
    if (!discovered) return discovered.error();
    Result<HashedFile> file = HashedFile::read(discovered->path);
    if (!file) return file.error();
    located = {.library = nullptr, .file = std::move(*file), .version = discovered->manifest.version};
  }
  if (spec.sha256 && *spec.sha256 != located.file.digest())
    return plugin_error(ErrorCode::invalid, spec.plugin,
                        "its SHA-256 is " + located.file.digest() +
                            " and the configuration pins another; install the pinned build "
                            "or correct the pin.");
  return located;
}

// Refuses what the daemon crashed in, and what does not go well in a child.
Result<void> PluginHost::State::admit(const InstanceSpec& spec, const HashedFile& file) const {
  if (options.record.crashes) {
    const Result<std::int64_t> crashes = options.record.crashes(file.digest());
    if (!crashes) return crashes.error();
    if (*crashes >= quarantine_after)
      return plugin_error(ErrorCode::denied, spec.plugin,
                          "the daemon crashed in it twice in a row, so this file is quarantined; install "
                          "another build of it, or run `runner-manager plugin release " +
                              spec.plugin + "` to try this one again.");
  }
  if (options.checker.empty()) return {};
  const Result<void> checked = check_in_child({.program = options.checker,
                                               .library = file.path(),
                                               .plugin = spec.plugin,
                                               .interface = interface_of(spec.kind),
                                               .instance = spec.name.str(),
                                               .config_json = spec.config_json,
                                               .patience = options.checker_patience});
  if (!checked) return plugin_error(checked.error().code, spec.plugin, checked.error().message);
  return {};
}

Result<void> PluginHost::State::load(const InstanceSpec& spec, Loaded& located) {
  if (Result<void> same = still_that_file(spec, located.file); !same) return same;
  if (located.library) return {};
  Result<std::shared_ptr<Library>> library =
      Library::load(located.file.path(), spec.plugin, ports, located.file.digest());
  if (Result<void> same = still_that_file(spec, located.file); !same) return same;
  if (!library) return plugin_error(library.error().code, spec.plugin, library.error().message);
  if ((*library)->version() != located.version)
    return plugin_error(ErrorCode::invalid, spec.plugin,
                        "it says that its version is " + (*library)->version() + ", but its manifest says " +
                            located.version + "; install manifest and library of one build.");
  located.library = std::move(*library);
  libraries.emplace(spec.plugin, located);
  log.write(observe::Level::info, observe::Event::plugin_loaded,
            {{observe::Field::plugin, spec.plugin},
             {observe::Field::version, located.version},
             {observe::Field::digest, located.file.digest()}});
  return {};
}

std::unique_ptr<Lane> PluginHost::State::make_lane(const InstanceSpec& spec, const char* which,
                                                   std::uint32_t flags, std::shared_ptr<void> keep) const {
  LaneOptions chosen = options.lane;
  chosen.name = spec.name.str() + "/" + which;
  chosen.threads =
      (flags & RMGR_COMPONENT_CONCURRENT) != 0 ? std::max<std::size_t>(options.concurrent_threads, 1) : 1;
  chosen.keep = std::move(keep);
  chosen.on_stuck = [this, name = spec.name.str(), lane = chosen.name] {
    log.write(observe::Level::error, observe::Event::lane_stuck,
              {{observe::Field::instance, name},
               {observe::Field::message,
                "a call in " + lane +
                    " is overdue; nothing of the instance is called until it returns or the agent is "
                    "started again"}});
  };
  return std::make_unique<Lane>(std::move(chosen));
}

Result<std::shared_ptr<void>> PluginHost::State::make_facade(ComponentKind kind,
                                                             std::shared_ptr<Instance> instance,
                                                             Entry& entry) {
  switch (kind) {
    case ComponentKind::execution_provider: {
      auto made = make_provider(std::move(instance));
      if (!made) return made.error();
      entry.provider = std::move(*made);
      return std::shared_ptr<void>(entry.provider);
    }
    case ComponentKind::package_source: {
      auto made = make_package_source(std::move(instance));
      if (!made) return made.error();
      entry.source = std::move(*made);
      return std::shared_ptr<void>(entry.source);
    }
    case ComponentKind::gateway: break;
  }
  auto made = make_gateway(std::move(instance));
  if (!made) return made.error();
  entry.gateway = std::move(*made);
  return std::shared_ptr<void>(entry.gateway);
}

Result<void> PluginHost::State::make(const InstanceSpec& spec, Loaded& located, Entry& entry) {
  if (Result<void> loaded = load(spec, located); !loaded) return loaded;
  entry.status.version = located.library->version();
  const Result<const rmgr_component*> component = located.library->component(interface_of(spec.kind));
  if (!component) return plugin_error(ErrorCode::invalid, spec.plugin, component.error().message);
  const Result<std::string> config =
      fit_config(spec.name.str(), spec.plugin, located.library->schema_of(**component), spec.config_json);
  if (!config) return config.error();
  Result<std::shared_ptr<Instance>> instance = Instance::create(
      located.library, ports, spec.plugin, spec.name, **component, *config, located.file.digest());
  if (!instance) return instance.error();
  const std::uint32_t flags = (*instance)->flags();
  const Result<std::shared_ptr<void>> facade = make_facade(spec.kind, std::move(*instance), entry);
  if (!facade) return facade.error();
  entry.ordinary = make_lane(spec, "ordinary", flags, *facade);
  entry.control = make_lane(spec, "control", flags, *facade);
  entry.status.ready = true;
  return {};
}

Result<void> PluginHost::State::fill(const InstanceSpec& spec, Entry& entry) {
  if (!usable_name(spec.name.str()))
    return Error{ErrorCode::invalid,
                 "The instance name " + one_line(spec.name.str(), 128) +
                     " is unusable: 1 to 64 letters, digits, '-', '_' and '.', not beginning with a dot.",
                 {}};
  Result<Loaded> located = locate(spec);
  if (!located) return located.error();
  if (Result<void> admitted = admit(spec, located->file); !admitted) return admitted;
  Result<void> made = make(spec, *located, entry);
  if (made && options.record.in_use) options.record.in_use(located->file.digest());
  return made;
}

Entry* PluginHost::State::ready(const domain::InstanceName& name) {
  const auto found = entries.find(name);
  return found == entries.end() || !found->second.status.ready ? nullptr : &found->second;
}

PluginHost::PluginHost(HostOptions options, observe::Log& log)
    : state_(std::make_unique<State>(std::move(options), log)) {}

void PluginHost::close_lanes() {
  for (auto& [name, entry] : state_->entries) {
    if (entry.ordinary) entry.ordinary->close();
    if (entry.control) entry.control->close();
  }
}

bool PluginHost::finish_lanes() {
  // All close first, so that their patience runs at the same time.
  close_lanes();
  bool all_back = true;
  for (auto& [name, entry] : state_->entries) {
    if (entry.ordinary) all_back = entry.ordinary->finish() && all_back;
    if (entry.control) all_back = entry.control->finish() && all_back;
  }
  return all_back;
}

PluginHost::~PluginHost() {
  finish_lanes();
  state_->entries.clear();
  state_->libraries.clear();
  state_->ports->detach(domain::Millis{1'000});
}

std::vector<Discovered> PluginHost::discover() const {
  return discover_plugins(state_->options.directories, state_->options.trust_any_owner, state_->options.abi);
}

Result<void> PluginHost::add_instance(const InstanceSpec& spec) {
  if (state_->ready(spec.name) != nullptr)
    return Error{ErrorCode::exists, "There is an instance " + spec.name.str() + " already.", {}};
  Entry entry;
  entry.status.name = spec.name;
  entry.status.kind = spec.kind;
  entry.status.plugin = spec.plugin;
  Result<void> filled = state_->fill(spec, entry);
  if (!filled) entry.status.refusal = filled.error().message;
  state_->entries.insert_or_assign(spec.name, std::move(entry));
  return filled;
}

std::vector<InstanceStatus> PluginHost::status() const {
  std::vector<InstanceStatus> all;
  for (const auto& [name, entry] : state_->entries) {
    all.push_back(entry.status);
    all.back().stuck =
        (entry.ordinary && entry.ordinary->stuck()) || (entry.control && entry.control->stuck());
  }
  return all;
}

ExecutionProvider* PluginHost::provider(const domain::InstanceName& name) {
  const Entry* entry = state_->ready(name);
  return entry == nullptr ? nullptr : entry->provider.get();
}

PackageSource* PluginHost::package_source(const domain::InstanceName& name) {
  const Entry* entry = state_->ready(name);
  return entry == nullptr ? nullptr : entry->source.get();
}

Gateway* PluginHost::gateway(const domain::InstanceName& name) {
  const Entry* entry = state_->ready(name);
  return entry == nullptr ? nullptr : entry->gateway.get();
}

Lane* PluginHost::ordinary_lane(const domain::InstanceName& name) {
  const Entry* entry = state_->ready(name);
  return entry == nullptr ? nullptr : entry->ordinary.get();
}

Lane* PluginHost::control_lane(const domain::InstanceName& name) {
  const Entry* entry = state_->ready(name);
  return entry == nullptr ? nullptr : entry->control.get();
}

}  // namespace agent::plugin
