#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands.hpp"
#include "cli/control_client.hpp"
#include "cli/offline.hpp"
#include "cli/table.hpp"
#include "daemon/control_protocol.hpp"
#include "daemon/status.hpp"
#include "observe/text.hpp"

namespace agent::cli {

using nlohmann::json;

namespace {

std::string text(const json& row, const char* key) {
  if (!row.contains(key) || row[key].is_null()) return "-";
  if (row[key].is_string()) return observe::escape_controls(row[key].get<std::string>());
  return row[key].dump();
}

bool flag(const json& row, const char* key) { return text(row, key) == "true"; }

// The objects of a list; nothing of what is absent or has another form, as an agent of another version may
// send.
json rows_of(const json& document, const char* key) {
  json rows = json::array();
  if (!document.contains(key) || !document[key].is_array()) return rows;
  for (const json& row : document[key]) {
    if (row.is_object()) rows.push_back(row);
  }
  return rows;
}

void print_slots(std::ostream& out, const std::string& policy, const json& slots) {
  for (const json& row : slots) {
    out << "  " << policy << ": slot " << text(row, "path") << " is not used, " << text(row, "refusal")
        << ": " << text(row, "remedy") << '\n';
  }
}

void print_policies(std::ostream& out, const json& policies) {
  Table table({"POLICY", "TARGET", "PROVIDER", "STATE", "QUEUED", "BUSY", "ACTIVE", "MAX", "LIMITED BY"});
  for (const json& row : policies) {
    table.add({text(row, "name"), text(row, "target"), text(row, "provider"), text(row, "state"),
               text(row, "queued"), text(row, "busy"), text(row, "active"), text(row, "max"),
               text(row, "limited_by")});
  }
  table.print(out);
  for (const json& row : policies) {
    for (const char* key : {"remedy", "note"}) {
      if (const std::string said = text(row, key); said != "-" && !said.empty()) {
        out << "  " << text(row, "name") << ": " << said << '\n';
      }
    }
    if (const std::string refusal = text(row, "root_refusal"); refusal != "-")
      out << "  " << text(row, "name") << ": root " << text(row, "root") << ": " << refusal << '\n';
    print_slots(out, text(row, "name"), rows_of(row, "refused_slots"));
  }
}

void print_targets(std::ostream& out, const json& targets) {
  for (const json& row : targets) {
    const std::string credential = text(row, "credential");
    if (credential != "-" && credential != "unknown" && credential != "ready")
      out << "target " << text(row, "target") << ": the credential is " << credential << '\n';
    if (const std::string error = text(row, "error"); !error.empty() && error != "-") {
      out << "target " << text(row, "target") << ": " << error << '\n';
    }
    if (flag(row, "recovering")) {
      out << "target " << text(row, "target")
          << ": launches wait until the runners of the last start were all seen again\n";
    }
    if (!row.contains("refused_jobs") || !row["refused_jobs"].is_object()) continue;
    for (const auto& [reason, count] : row["refused_jobs"].items()) {
      out << "target " << text(row, "target") << ": " << count.dump()
          << " queued job(s) not counted: " << observe::escape_controls(reason) << '\n';
    }
  }
}

void print_instances(std::ostream& out, const json& instances) {
  Table table({"INSTANCE", "KIND", "PLUGIN", "VERSION", "READY"});
  for (const json& row : instances) {
    table.add({text(row, "name"), text(row, "kind"), text(row, "plugin"), text(row, "version"),
               flag(row, "stuck")   ? "stuck"
               : flag(row, "ready") ? "yes"
                                    : "no"});
  }
  table.print(out);
  for (const json& row : instances) {
    const std::string refusal = text(row, "refusal");
    if (!refusal.empty() && refusal != "-") out << "  " << text(row, "name") << ": " << refusal << '\n';
  }
}

void print_attempts(std::ostream& out, const json& attempts) {
  Table table({"ATTEMPT", "POLICY", "STATE", "OUTCOME", "REASON", "RUNNER", "PID", "DOING"});
  for (const json& row : attempts) {
    table.add({text(row, "id"), text(row, "policy"), text(row, "state"), text(row, "outcome"),
               text(row, "reason"), text(row, "runner_id"), text(row, "pid"), text(row, "pending")});
  }
  if (table.empty()) {
    out << "no attempts\n";
  } else {
    table.print(out);
  }
}

void print_journal(std::ostream& out, const json& journal) {
  if (text(journal, "state") == "-" || text(journal, "state") == "ready") return;
  out << "journal: " << text(journal, "state") << ": " << text(journal, "message") << '\n';
}

void print_sandboxes(std::ostream& out, const json& sandboxes) {
  for (const json& row : sandboxes) {
    const std::string environment = text(row, "environment");
    out << "sandbox" << (environment == "-" ? "" : " " + environment) << " of attempt "
        << text(row, "attempt") << " at " << text(row, "provider") << ": " << text(row, "remedy") << '\n';
  }
}

void print_status(std::ostream& out, const json& document) {
  const json host = document.contains("host") ? document["host"] : json::object();
  out << "runner-manager " << text(document, "version") << (flag(document, "draining") ? ", draining" : "")
      << ": " << text(host, "active") << " of " << text(host, "capacity") << " runners\n\n";
  print_journal(out, document.contains("journal") ? document["journal"] : json::object());
  print_policies(out, rows_of(document, "policies"));
  for (const json& row : rows_of(document, "quarantined_slots"))
    print_slots(out, text(row, "policy"), json::array({row}));
  print_sandboxes(out, rows_of(document, "quarantined_sandboxes"));
  print_targets(out, rows_of(document, "targets"));
  out << '\n';
  print_instances(out, rows_of(document, "instances"));
  out << '\n';
  print_attempts(out, rows_of(document, "attempts"));
  if (!document.contains("notices") || !document["notices"].is_array()) return;
  for (const json& notice : document["notices"]) {
    if (notice.is_string()) out << "notice: " << observe::escape_controls(notice.get<std::string>()) << '\n';
  }
}

struct Asked {
  domain::Result<std::string> response;
  std::string unattended;  // the state directory, where no agent is behind its socket
};

// Nothing after the configuration's problems were printed.
std::optional<Asked> ask_or_look(Surface& surface, const Where& where, const std::string& request) {
  std::optional<config::Configuration> configuration;
  if (!where.config.empty()) {
    configuration = load(surface, where.config);
    if (!configuration) return std::nullopt;
  }
  Asked asked{send_request(configuration ? configuration->control_socket : where.socket, request), {}};
  const bool absent = !asked.response && asked.response.error().code == domain::ErrorCode::not_found;
  if (absent && configuration) asked.unattended = configuration->state_directory;
  return asked;
}

// What can be told of an agent that does not answer: how its state directory fares, and what its journal
// says is not done. Nothing is written.
int status_without_agent(Surface& surface, const std::string& state, bool as_json) {
  const daemon::OfflineInput offline = look_without_agent(state);
  const bool usable =
      offline.journal == domain::JournalState::ready || offline.journal == domain::JournalState::absent;
  const int exit_code = usable ? kNotRunning : kStateRefused;
  const std::string document = daemon::offline_json(offline);
  if (as_json) {
    surface.out << document << '\n';
    return exit_code;
  }
  if (offline.holder) {
    surface.out << "an agent (process " << *offline.holder
                << ") has the state directory and does not answer yet; see its log\n";
  } else {
    surface.out << "no agent is running\n";
  }
  const json parsed = json::parse(document, nullptr, false);
  print_journal(surface.out, parsed["journal"]);
  if (offline.active)
    print_attempts(surface.out, rows_of(parsed, "attempts"));
  else
    surface.out << "attempts are not known\n";
  return exit_code;
}

}  // namespace

int status(Surface& surface, const Where& where, bool as_json) {
  auto asked = ask_or_look(surface, where, daemon::control_request("status"));
  if (!asked) return kConfigurationRefused;
  int exit_code = kFailed;
  const auto result = outcome_of(surface, std::move(asked->response), exit_code);
  if (!asked->unattended.empty()) return status_without_agent(surface, asked->unattended, as_json);
  if (!result) return exit_code;
  if (as_json) {
    surface.out << *result << '\n';
    return kOk;
  }
  const json document = json::parse(*result, nullptr, false);
  if (!document.is_object()) {
    surface.err << "runner-manager: the agent's answer is not understood; is it of another version?\n";
    return kFailed;
  }
  print_status(surface.out, document);
  return kOk;
}

int attempts(Surface& surface, const Where& where, bool as_json, std::int64_t limit) {
  auto asked = ask_or_look(surface, where, daemon::control_request("attempts", "limit", limit));
  if (!asked) return kConfigurationRefused;
  int exit_code = kFailed;
  std::optional<std::string> result;
  if (asked->unattended.empty()) {
    result = outcome_of(surface, std::move(asked->response), exit_code);
  } else {
    const auto rows = recent_without_agent(asked->unattended, limit);
    if (!rows) return failed(surface, rows.error(), kStateRefused);
    result = daemon::attempts_json(*rows);
  }
  if (!result) return exit_code;
  if (as_json) {
    surface.out << *result << '\n';
    return kOk;
  }
  print_attempts(surface.out, rows_of(json::parse(*result, nullptr, false), "attempts"));
  return kOk;
}

}  // namespace agent::cli
