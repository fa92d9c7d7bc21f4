// rmgr-plugin-check LIBRARY PLUGIN INTERFACE INSTANCE < CONFIGURATION: runs a plugin through the calls that
// the daemon makes before it relies on it. Exit code 0, or 97 after one sentence. The daemon runs it before
// it loads a library and before it makes an instance. rmgr-plugin-check LIBRARY PLUGIN --schemas loads it and
// says {interface id: schema}, for the configuration.
//
// With --report before all of this it is the child, and reports to its parent as plugin/report.hpp says. A
// person leaves that out: then it is the parent, as the daemon is, believes no more than the daemon would,
// and prints what came of the child.
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "plugin/check/surroundings.hpp"
#include "plugin/checker.hpp"
#include "plugin/instance.hpp"
#include "plugin/report.hpp"
#include "plugin/schema.hpp"
#include "rmgr/abi/execution_provider.h"

namespace {

using namespace agent;
using domain::Error;
using domain::ErrorCode;
using domain::InstanceName;
using domain::Result;

class SilentLog final : public observe::Log {
 public:
  void write(observe::Level /*level*/, observe::Event /*event*/, observe::Fields /*fields*/) override {}
};

// Begins empty and is forgotten: what the instance really stored is none of a trial's business. A plugin may
// use it from threads of its own.
class ForgetfulKv final : public plugin::KvPort {
 public:
  Result<std::optional<std::string>> get(const InstanceName& /*instance*/, std::string_view key) override {
    const std::lock_guard lock(mutex_);
    const auto found = values_.find(std::string(key));
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }
  Result<void> put(const InstanceName& /*instance*/, std::string_view key, std::string_view value) override {
    const std::lock_guard lock(mutex_);
    values_.insert_or_assign(std::string(key), std::string(value));
    return {};
  }
  Result<void> remove(const InstanceName& /*instance*/, std::string_view key) override {
    const std::lock_guard lock(mutex_);
    values_.erase(std::string(key));
    return {};
  }
  Result<std::vector<std::string>> list(const InstanceName& /*instance*/, std::string_view prefix) override {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> keys;
    for (const auto& [key, value] : values_)
      if (key.starts_with(prefix)) keys.push_back(key);
    return keys;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> values_;
};

// Nothing of an attempt is called here, so there is no process to deal with.
class NoProcesses final : public plugin::ProcessPort {
 public:
  Result<domain::ProcessIdentity> spawn_held(plugin::Call& /*call*/,
                                             const plugin::ProcessRequest& /*request*/) override {
    return refused();
  }
  Result<void> release(plugin::Call& /*call*/, std::string_view /*key*/,
                       const domain::ProcessIdentity& /*id*/, std::string_view /*name*/,
                       std::string_view /*secret*/) override {
    return refused();
  }
  Result<plugin::EnvironmentState> inspect(plugin::Call& /*call*/, std::string_view /*key*/,
                                           const domain::ProcessIdentity& /*id*/, int& /*signal*/) override {
    return refused();
  }
  Result<void> stop(plugin::Call& /*call*/, std::string_view /*key*/, const domain::ProcessIdentity& /*id*/,
                    domain::Millis /*grace*/) override {
    return refused();
  }
  Result<void> forget(std::string_view /*key*/) override { return refused(); }
  [[nodiscard]] plugin::ProcessAbilities abilities() const override { return {}; }

 private:
  static Error refused() { return {ErrorCode::denied, "No process is started while a plugin is tried.", {}}; }
};

class WorkDirectory {
 public:
  WorkDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "rmgr-plugin-check-XXXXXX").string();
    if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~WorkDirectory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  WorkDirectory(const WorkDirectory&) = delete;
  WorkDirectory& operator=(const WorkDirectory&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::optional<plugin::Reporter> reporter;  // of the child

// A parent that cannot be told would take silence for a crash, so there is nothing left to do.
void tell(plugin::Record kind, std::string_view text) {
  if (!reporter->send(kind, text)) std::_Exit(plugin::check_refused);
}

std::string read_input() { return {std::istreambuf_iterator<char>(std::cin), {}}; }

void begin(const char* stage) { tell(plugin::Record::stage, stage); }

// The facade complains about functions that the interface lacks. Of its calls only the probe is made: all
// others are about an attempt or reach the outside.
Result<void> try_instance(const std::string& interface, std::shared_ptr<plugin::Instance> instance) {
  if (interface == plugin::interface_of(plugin::ComponentKind::package_source)) {
    const auto source = plugin::make_package_source(std::move(instance));
    return source ? Result<void>() : source.error();
  }
  if (interface == plugin::interface_of(plugin::ComponentKind::gateway)) {
    const auto gateway = plugin::make_gateway(std::move(instance));
    return gateway ? Result<void>() : gateway.error();
  }
  const auto provider = plugin::make_provider(std::move(instance));
  if (!provider) return provider.error();
  begin("Probing an instance of it");
  plugin::Call call("plugin-check", std::chrono::steady_clock::now() + std::chrono::seconds(10));
  domain::Policy policy;
  policy.name = domain::PolicyName("plugin-check");
  (void)(*provider)->probe(call, policy);  // whether it is ready is asked again when it matters
  begin("Destroying an instance of it");
  return {};
}

Result<void> check(const std::string& path, const std::string& id, const std::string& interface,
                   const InstanceName& name, const std::string& config) {
  SilentLog log;
  ForgetfulKv kv;
  NoProcesses processes;
  const WorkDirectory work;
  plugin::HostOptions options;
  options.kv = &kv;
  options.process = &processes;
  options.work_directory = work.path();
  const auto ports = std::make_shared<plugin::Ports>(log, options);
  const plugin::Surroundings surroundings;
  begin(plugin::stage_loading);
  auto library = plugin::Library::load(path, id, ports, "");
  if (!library) return library.error();
  if (Result<void> alone = surroundings.check(); !alone) return alone;
  const auto component = (*library)->component(interface);
  if (!component) return component.error();
  const auto fitted = plugin::fit_config(name.str(), id, (*library)->schema_of(**component), config);
  if (!fitted) return fitted.error();
  begin("Creating an instance of it");
  auto instance = plugin::Instance::create(*library, ports, id, name, **component, *fitted, "");
  if (!instance) return instance.error();
  if (Result<void> alone = surroundings.check(); !alone) return alone;
  begin("Destroying an instance of it");
  Result<void> tried = try_instance(interface, std::move(*instance));
  if (!tried) return tried;
  begin("Ending it");
  *library = nullptr;
  return surroundings.check();
}

Result<void> show_schemas(const std::string& path, const std::string& id) {
  SilentLog log;
  begin(plugin::stage_loading);
  auto library =
      plugin::Library::load(path, id, std::make_shared<plugin::Ports>(log, plugin::HostOptions{}), "");
  if (!library) return library.error();
  std::string all;
  for (const std::string& interface : (*library)->interfaces()) {
    const auto component = (*library)->component(interface);
    if (!component) return component.error();
    const std::string schema = (*library)->schema_of(**component);
    if (const auto read = plugin::check_config(schema, "{}"); !read) return read.error();
    // An interface id needs no escapes, and the schema is JSON, as was just seen.
    all += (all.empty() ? "{\"" : ",\"") + interface + "\":" + schema;
  }
  if (all.empty()) return Error{ErrorCode::invalid, "It offers no interface.", {}};
  all += '}';
  if (all.size() > plugin::most_schemas)
    return Error{ErrorCode::invalid, "Its schemas are larger than 1 MiB.", {}};
  tell(plugin::Record::schemas, all);
  return {};
}

// The child's part.
[[noreturn]] void report(bool schemas, char** words) {
  try {
    const auto result = schemas ? show_schemas(words[0], words[1])
                                : check(words[0], words[1], words[2], InstanceName(words[3]), read_input());
    // Threads that a plugin left behind must not outlive what they use, so nothing is taken down any more.
    if (result) {
      tell(plugin::Record::done, "Done");
      std::_Exit(0);
    }
    tell(plugin::Record::refusal, result.error().message);
  } catch (...) {
    tell(plugin::Record::refusal,
         "An exception came out of it, which its interface does not allow; report it to its vendor.");
  }
  std::_Exit(plugin::check_refused);
}

// The parent's part, for a person.
int show(bool schemas, char** words) {
  std::error_code error;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", error).string();
  const plugin::ChildCheck child{.program = self,
                                 .library = std::filesystem::absolute(words[0], error).string(),
                                 .plugin = words[1],
                                 .interface = schemas ? "" : words[2],
                                 .instance = schemas ? "" : words[3],
                                 .config_json = schemas ? "" : read_input(),
                                 .scratch = ""};
  if (schemas) {
    const auto said = plugin::schemas_in_child(self, child.library, child.plugin, child.patience);
    if (said) std::cout << *said << std::endl;
    if (!said) std::cerr << said.error().message << std::endl;
    return said ? 0 : plugin::check_refused;
  }
  const auto checked = plugin::check_in_child(child);
  std::cerr << (checked ? "It went through." : checked.error().message) << std::endl;
  return checked ? 0 : plugin::check_refused;
}

}  // namespace

int main(int argc, char** argv) {
  ::prctl(PR_SET_DUMPABLE, 0);  // its configuration may name secrets, which it reads
  const bool is_child = argc > 1 && std::string_view(argv[1]) == plugin::report_option;
  const int first = is_child ? 2 : 1;
  const bool schemas = argc == first + 3 && std::string_view(argv[first + 2]) == "--schemas";
  if (argc != first + 4 && !schemas) {
    std::fputs(
        "usage: rmgr-plugin-check LIBRARY PLUGIN INTERFACE INSTANCE < CONFIGURATION\n"
        "       rmgr-plugin-check LIBRARY PLUGIN --schemas\n",
        stderr);
    return 2;
  }
  if (!is_child) return show(schemas, argv + first);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  reporter = plugin::Reporter::take();
  if (!reporter) {
    std::fputs("rmgr-plugin-check: --report is for the agent, which listens at a descriptor\n", stderr);
    return 2;
  }
  report(schemas, argv + first);
}
