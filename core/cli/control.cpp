// What an operator asks a running agent to do.
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands.hpp"
#include "daemon/control_protocol.hpp"
#include "observe/text.hpp"

namespace agent::cli {

using nlohmann::json;

int drain(Surface& surface, const Where& where) {
  int exit_code = kFailed;
  if (!ask(surface, where, daemon::control_request("drain"), exit_code)) return exit_code;
  surface.out << "draining: no new runners; the agent ends when what is in flight has ended\n";
  return kOk;
}

int reload(Surface& surface, const Where& where) {
  int exit_code = kFailed;
  const auto result = ask(surface, where, daemon::control_request("reload"), exit_code);
  if (!result) return exit_code;
  surface.out << "reloaded: the agent goes by what its configuration file says now\n";
  return kOk;
}

int explain(Surface& surface, const Where& where, const std::string& what, bool as_json) {
  int exit_code = kFailed;
  const auto result = ask(surface, where, daemon::control_request("explain", "what", what), exit_code);
  if (!result) return exit_code;
  if (as_json) {
    surface.out << *result << '\n';
    return kOk;
  }
  const json document = json::parse(*result, nullptr, false);
  const auto print = [&](const char* key, const char* lead) {
    if (!document.is_object() || !document.contains(key) || !document[key].is_array()) return;
    for (const json& sentence : document[key]) {
      if (sentence.is_string())
        surface.out << lead << observe::escape_controls(sentence.get<std::string>()) << '\n';
    }
  };
  print("facts", "");
  print("factors", "why: ");
  print("remedies", "do:  ");
  return kOk;
}

int forget_attempt(Surface& surface, const Where& where, const std::string& attempt) {
  int exit_code = kFailed;
  if (!ask(surface, where, daemon::control_request("forget_attempt", "attempt", attempt), exit_code))
    return exit_code;
  surface.out
      << "forgotten: nothing waits for this attempt's runner any more; its directory and registration "
         "are removed as ever\n";
  return kOk;
}

}  // namespace agent::cli
