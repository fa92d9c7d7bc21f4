#include "cli/document.hpp"

#include <chrono>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/table.hpp"
#include "observe/text.hpp"

namespace agent::cli {
namespace {

using Json = nlohmann::ordered_json;

// The value as text; "" for what is absent or null.
std::string text(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end() || found->is_null()) return {};
  return found->is_string() ? found->get<std::string>()
                            : found->dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::int64_t number(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && found->is_number_integer()
             ? found->get<std::int64_t>()
             : 0;
}

bool flag(const Json& object, const char* key) { return text(object, key) == "true"; }

// The objects of a list; none if it is absent or something else.
std::vector<Json> rows(const Json& document, const char* key) {
  std::vector<Json> all;
  const auto found = document.find(key);
  if (found == document.end() || !found->is_array()) return all;
  for (const Json& row : *found)
    all.push_back(row);
  return all;
}

std::string either(std::string first, std::string second) { return first.empty() ? second : first; }

std::string joined(const std::string& first, const std::string& second) {
  return first.empty() || second.empty() ? first + second : first + ": " + second;
}

void print_section(const char* title, const Table& table, std::ostream& out) {
  if (table.empty()) return;
  out << '\n' << title << '\n';
  table.print(out);
}

Table attempts_table(const Json& document, std::int64_t now_ms) {
  Table table({"ATTEMPT", "POLICY", "TARGET", "STATE", "OUTCOME", "RUNNER", "PID", "AGE", "SINCE", "NOTE"});
  for (const Json& row : rows(document, "attempts")) {
    std::string note = text(row, "pending");
    if (flag(row, "owes_deregistration")) note = joined(note, "owes a deregistration");
    table.add({text(row, "id"), text(row, "policy"), text(row, "target"), text(row, "state"),
               joined(text(row, "outcome"), text(row, "reason")), text(row, "runner_id"), text(row, "pid"),
               age(number(row, "created_at_ms"), now_ms), age(number(row, "changed_at_ms"), now_ms), note});
  }
  return table;
}

Table policies_table(const Json& document) {
  Table table(
      {"POLICY", "TARGET", "PROVIDER", "STATE", "QUEUED", "BUSY", "ACTIVE", "MAX", "LIMITED BY", "NOTE"});
  for (const Json& row : rows(document, "policies")) {
    table.add({text(row, "name"), text(row, "target"), text(row, "provider"), text(row, "state"),
               text(row, "queued"), text(row, "busy"), text(row, "active"), text(row, "max"),
               text(row, "limited_by"), joined(text(row, "note"), text(row, "remedy"))});
  }
  return table;
}

Table instances_table(const Json& document) {
  Table table({"INSTANCE", "KIND", "PLUGIN", "VERSION", "READY", "NOTE"});
  for (const Json& row : rows(document, "instances")) {
    const std::string ready = flag(row, "stuck") ? "stuck" : flag(row, "ready") ? "yes" : "no";
    table.add({text(row, "name"), text(row, "kind"), text(row, "plugin"), text(row, "version"), ready,
               either(text(row, "refusal"), text(row, "note"))});
  }
  return table;
}

Table targets_table(const Json& document, std::int64_t now_ms) {
  Table table({"TARGET", "GATEWAY", "LAST CONTACT", "ERROR"});
  for (const Json& row : rows(document, "targets")) {
    table.add({text(row, "target"), text(row, "gateway"), age(number(row, "last_contact_ms"), now_ms),
               text(row, "error")});
  }
  return table;
}

}  // namespace

bool print_status(std::string_view json, std::int64_t now_ms, std::ostream& out) {
  const Json document = Json::parse(json, nullptr, false);
  if (!document.is_object()) return false;
  const Json host = document.contains("host") ? document["host"] : Json::object();
  out << "runner-manager " << observe::escape_controls(text(document, "version")) << ", running for "
      << age(number(document, "started_at_ms"), now_ms) << ", " << number(host, "active") << " of "
      << number(host, "capacity") << " runners" << (flag(document, "draining") ? ", draining" : "") << '\n';
  for (const Json& notice : rows(document, "notices")) {
    if (notice.is_string()) out << "! " << observe::escape_controls(notice.get<std::string>()) << '\n';
  }
  print_section("Policies", policies_table(document), out);
  print_section("Plugins", instances_table(document), out);
  print_section("Targets", targets_table(document, now_ms), out);
  print_section("Attempts", attempts_table(document, now_ms), out);
  return true;
}

bool print_attempts(std::string_view json, std::int64_t now_ms, std::ostream& out) {
  const Json document = Json::parse(json, nullptr, false);
  if (!document.is_object()) return false;
  attempts_table(document, now_ms).print(out);
  return true;
}

std::string problems_json(const std::string& file, const config::Loaded& loaded) {
  Json document{{"file", file}, {"ok", loaded.configuration.has_value()}, {"problems", Json::array()}};
  for (const config::Problem& problem : loaded.problems) {
    document["problems"].push_back({{"file", problem.file},
                                    {"line", problem.line},
                                    {"column", problem.column},
                                    {"message", problem.message},
                                    {"text", problem.text}});
  }
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string plugins_json(const std::vector<plugin::Discovered>& plugins) {
  Json document{{"plugins", Json::array()}};
  for (const plugin::Discovered& found : plugins) {
    const plugin::Manifest& manifest = found.manifest;
    Json row{{"id", manifest.id},
             {"version", manifest.version},
             {"path", found.path},
             {"platform", manifest.platform},
             {"abi", std::to_string(manifest.abi_major) + "." + std::to_string(manifest.abi_minor)},
             {"interfaces", manifest.interfaces},
             {"usable", !found.refusal.has_value()},
             {"refusal", nullptr}};
    if (found.refusal) row["refusal"] = *found.refusal;
    document["plugins"].push_back(std::move(row));
  }
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::int64_t wall_clock_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace agent::cli
