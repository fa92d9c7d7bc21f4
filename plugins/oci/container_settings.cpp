#include "oci/container_settings.hpp"

#include <nlohmann/json.hpp>

#include "rmgr/error.hpp"
#include "support/engine/settings.hpp"

namespace oci {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw rmgr::Error(rmgr::Status::invalid, why); }

template <class T>
void take(const nlohmann::json& json, const char* name, T& value) {
  if (const auto found = json.find(name); found != json.end()) value = found->get<T>();
}

bool sound_path(const std::string& path) {
  return path.size() > 1 && !path.ends_with('/') && path.find("//") == std::string::npos &&
         (path + "/").find("/./") == std::string::npos && (path + "/").find("/../") == std::string::npos;
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words)
    all += (all.empty() ? "" : " ") + word;
  return all;
}

}  // namespace

void read(const nlohmann::json& json, ContainerSettings& settings) {
  settings.in_image = settings.in_image || json.contains("runner_path");
  take(json, "runner_path", settings.runner_path);
  take(json, "network", settings.network);
  take(json, "user", settings.user);
  take(json, "environment", settings.environment);
  take(json, "add_capabilities", settings.add_capabilities);
  take(json, "tmpfs", settings.tmpfs);
  take(json, "privilege_escalation", settings.privilege_escalation);
  take(json, "read_only", settings.read_only);
  take(json, "init", settings.init);
  take(json, "pids", settings.pids);
}

void check(const ContainerSettings& settings) {
  if (settings.network == "host")
    refuse("network: host would show the host's own services to jobs; name another network, own or none.");
  if (!sound_path(settings.runner_path)) refuse("runner_path: it is not a plain absolute path; correct it.");
  for (const std::string& path : settings.tmpfs) {
    if (!sound_path(path)) refuse("tmpfs: an entry is not a plain absolute path; correct it.");
  }
  plugins::engine::check_environment(settings.environment);
  for (const std::string& name : settings.add_capabilities) {
    if (name == "ALL") refuse("add_capabilities: name the capabilities one by one instead of ALL.");
  }
}

const std::vector<std::string>& base_capabilities() {
  static const std::vector<std::string> all = {"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID",
                                               "KILL",  "SETFCAP",      "SETGID", "SETUID"};
  return all;
}

std::string loosened(const ContainerSettings& settings) {
  std::string what;
  const auto add = [&](bool is, const std::string& one) {
    if (is) what += (what.empty() ? "" : ", ") + one;
  };
  add(!settings.add_capabilities.empty(), "add_capabilities " + joined(settings.add_capabilities));
  add(settings.privilege_escalation, "privilege_escalation (set-user-ID programs work)");
  add(!settings.init, "init false (nothing reaps what jobs leave)");
  add(settings.network != "own" && settings.network != "none",
      "network " + settings.network + " (containers share it)");
  return what.empty() ? "" : "loosened by configuration: " + what;
}

}  // namespace oci
