// rmgr-plugin-check LIBRARY PLUGIN INTERFACE INSTANCE < CONFIGURATION: runs a plugin through the calls that
// the daemon makes before it relies on it. Exit code 0, or 97 after one sentence. The daemon runs it before
// it loads a library and before it makes an instance. rmgr-plugin-check LIBRARY PLUGIN --schemas loads it and
// says {interface id: schema}, for the configuration. With --report before all of this it reports to its
// parent as plugin/report.hpp says; otherwise it prints the schemas, and all else as messages.
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

std::optional<plugin::Reporter> reporter;  // nobody but a person listens without it

// A parent that cannot be told would take silence for a crash, so there is nothing left to do.
void tell(plugin::Record kind, std::string_view text) {
  if (reporter) {
    if (!reporter->send(kind, text)) std::_Exit(plugin::check_refused);
    return;
  }
  std::FILE* const where = kind == plugin::Record::schemas ? stdout : stderr;
  std::fprintf(where, "%.*s\n", static_cast<int>(text.size()), text.data());
  std::fflush(where);
}

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
  begin(plugin::stage_loading);
  auto library = plugin::Library::load(path, id, ports, "");
  if (!library) return library.error();
  const auto component = (*library)->component(interface);
  if (!component) return component.error();
  const auto fitted = plugin::fit_config(name.str(), id, (*library)->schema_of(**component), config);
  if (!fitted) return fitted.error();
  begin("Creating an instance of it");
  auto instance = plugin::Instance::create(*library, ports, id, name, **component, *fitted, "");
  if (!instance) return instance.error();
  begin("Destroying an instance of it");
  Result<void> tried = try_instance(interface, std::move(*instance));
  if (!tried) return tried;
  begin("Ending it");
  *library = nullptr;
  return {};
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

}  // namespace

int main(int argc, char** argv) {
  ::prctl(PR_SET_DUMPABLE, 0);  // its configuration may name secrets, which it reads
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (argc > 1 && std::string_view(argv[1]) == plugin::report_option) {
    reporter = plugin::Reporter::take();
    if (!reporter) {
      std::fputs("rmgr-plugin-check: --report is for the agent, which listens at a descriptor\n", stderr);
      return 2;
    }
    --argc;
    ++argv;
  }
  const bool schemas = argc == 4 && std::string_view(argv[3]) == "--schemas";
  if (argc != 5 && !schemas) {
    std::fputs(
        "usage: rmgr-plugin-check LIBRARY PLUGIN INTERFACE INSTANCE < CONFIGURATION\n"
        "       rmgr-plugin-check LIBRARY PLUGIN --schemas\n",
        stderr);
    return 2;
  }
  try {
    const auto result = schemas ? show_schemas(argv[1], argv[2])
                                : check(argv[1], argv[2], argv[3], InstanceName(argv[4]),
                                        std::string{std::istreambuf_iterator<char>(std::cin), {}});
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
