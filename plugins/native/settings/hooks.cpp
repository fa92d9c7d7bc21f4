#include "native/settings/hooks.hpp"

#include "native/settings/json.hpp"
#include "rmgr/error.hpp"

namespace native {
namespace {

void read(const nlohmann::json& hooks, const char* name, std::optional<HookCommand>& hook) {
  const auto found = hooks.find(name);
  if (found == hooks.end()) return;
  HookCommand read;
  read.command = found->at("command").get<std::vector<std::string>>();
  read.timeout = std::chrono::seconds(get_or(*found, "timeout_seconds", 60));
  hook.reset();
  if (read.command.empty()) return;  // a policy without the hook that all others have
  if (!read.command.front().starts_with('/')) {
    throw rmgr::Error(rmgr::Status::invalid, std::string("hooks.") + name +
                                                 ".command: " + read.command.front() +
                                                 " is no absolute path; name the program from / on.");
  }
  hook = std::move(read);
}

}  // namespace

void read(const nlohmann::json& json, HookSettings& settings) {
  const auto hooks = json.find("hooks");
  if (hooks == json.end()) return;
  read(*hooks, "before", settings.before);
  read(*hooks, "after", settings.after);
}

}  // namespace native
