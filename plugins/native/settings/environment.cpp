#include "native/settings/environment.hpp"

#include "native/environment.hpp"
#include "native/settings/json.hpp"
#include "rmgr/error.hpp"

namespace native {

void read(const nlohmann::json& json, EnvironmentSettings& settings) {
  settings.runner_env = get_or(json, "runner_env", std::string());
  settings.inherit = get_or(json, "inherit", default_inherit());
  for (const std::string& name : settings.inherit) {
    if (may_inherit(name)) continue;
    throw rmgr::Error(rmgr::Status::invalid,
                      "inherit: " + name +
                          " would hand the service manager's or the agent's own channels to jobs; "
                          "remove it.");
  }
}

}  // namespace native
