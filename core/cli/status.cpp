#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands.hpp"
#include "cli/control_client.hpp"
#include "cli/table.hpp"
#include "daemon/control_protocol.hpp"
#include "daemon/status.hpp"
#include "journal/journal.hpp"
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

}  // namespace

int status(Surface& surface, const Where& where, bool as_json) {
  int exit_code = kFailed;
  const auto result = ask(surface, where, daemon::control_request("status"), exit_code);
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
  const json host = document.contains("host") ? document["host"] : json::object();
  surface.out << "runner-manager " << text(document, "version")
              << (flag(document, "draining") ? ", draining" : "") << ": " << text(host, "active") << " of "
              << text(host, "capacity") << " runners\n\n";
  print_policies(surface.out, rows_of(document, "policies"));
  for (const json& row : rows_of(document, "quarantined_slots"))
    print_slots(surface.out, text(row, "policy"), json::array({row}));
  for (const json& row : rows_of(document, "quarantined_sandboxes")) {
    const std::string named =
        row.value("environment", json()).is_string() ? " " + text(row, "environment") : "";
    surface.out << "sandbox" << named << " of attempt " << text(row, "attempt") << " at "
                << text(row, "provider") << ": " << text(row, "remedy") << '\n';
  }
  print_targets(surface.out, rows_of(document, "targets"));
  surface.out << '\n';
  print_instances(surface.out, rows_of(document, "instances"));
  surface.out << '\n';
  print_attempts(surface.out, rows_of(document, "attempts"));
  if (document.contains("notices") && document["notices"].is_array()) {
    for (const json& notice : document["notices"]) {
      if (notice.is_string())
        surface.out << "notice: " << observe::escape_controls(notice.get<std::string>()) << '\n';
    }
  }
  return kOk;
}

namespace {

// Without a daemon the journal itself is read; nothing is written there.
std::optional<std::string> attempts_of_journal(Surface& surface, const std::string& state,
                                               std::int64_t limit) {
  journal::OpenOptions open;
  open.path = state + "/journal.db";
  open.read_only = true;
  open.check = false;
  auto opened = journal::Journal::open(open);
  if (!opened) {
    failed(surface, opened.error(), kStateRefused);
    return std::nullopt;
  }
  auto rows = (*opened)->recent(limit);
  if (!rows) {
    failed(surface, rows.error(), kStateRefused);
    return std::nullopt;
  }
  return daemon::attempts_json(*rows);
}

}  // namespace

int attempts(Surface& surface, const Where& where, bool as_json, std::int64_t limit) {
  int exit_code = kFailed;
  std::optional<std::string> result;
  std::optional<config::Configuration> configuration;
  if (!where.config.empty()) {
    configuration = load(surface, where.config);
    if (!configuration) return kConfigurationRefused;
  }
  const std::string socket = configuration ? configuration->control_socket : where.socket;
  auto response = send_request(socket, daemon::control_request("attempts", "limit", limit));
  if (!response && configuration && response.error().code == domain::ErrorCode::not_found) {
    result = attempts_of_journal(surface, configuration->state_directory, limit);
    if (!result) return kStateRefused;
  } else {
    result = outcome_of(surface, std::move(response), exit_code);
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
