#include "daemon/status.hpp"

#include <nlohmann/json.hpp>

#include "observe/log.hpp"

namespace agent::daemon {

using domain::Attempt;
using nlohmann::json;

namespace {

json word(std::string_view text) { return std::string(text); }

// A text that came from elsewhere, a plugin or a server, may repeat what it was given.
json told(std::string_view text) { return observe::scrub(text); }

// The beginning of an id is enough to find it; all of it would be taken for a secret.
json shortened(const domain::EnvironmentId& environment) {
  constexpr std::size_t enough = 20;
  return told(std::string_view(environment.str()).substr(0, enough));
}

void put_time(json& times, const char* name, const std::optional<domain::Instant>& at) {
  if (at) times[name] = at->wall_ms;
}

json attempt_document(const Attempt& attempt) {
  json document{{"id", attempt.id.str()},
                {"policy", attempt.policy.name.str()},
                {"target", attempt.policy.target.str()},
                {"state", word(domain::to_string(attempt.state))},
                {"outcome", nullptr},
                {"reason", nullptr},
                {"runner_id", nullptr},
                {"pid", nullptr},
                {"slot", nullptr},
                {"slot_refusal", nullptr},
                {"exit_code", nullptr},
                {"clean_exit", attempt.clean_exit},
                {"out_of_memory", attempt.out_of_memory},
                {"package", nullptr},
                {"pending", nullptr},
                {"termination", nullptr},
                {"environment", nullptr},
                {"owes_deregistration", attempt.deregistration_owed},
                {"created_at_ms", attempt.times.granted.wall_ms},
                {"changed_at_ms", attempt.changed_at.wall_ms}};
  if (attempt.outcome) {
    document["outcome"] = word(domain::to_string(attempt.outcome->kind));
    if (attempt.outcome->reason) document["reason"] = word(domain::to_string(*attempt.outcome->reason));
  }
  if (attempt.runner) document["runner_id"] = attempt.runner->get();
  if (attempt.process) document["pid"] = attempt.process->pid;
  if (attempt.environment) document["environment"] = shortened(*attempt.environment);
  if (attempt.slot) document["slot"] = *attempt.slot;
  if (attempt.exit_code) document["exit_code"] = *attempt.exit_code;
  if (attempt.package) document["package"] = attempt.package->str();
  if (attempt.pending) document["pending"] = word(domain::to_string(attempt.pending->kind));
  if (attempt.termination) document["termination"] = word(domain::to_string(attempt.termination->kind));
  json& times = document["times"] = json::object();
  put_time(times, "granted_ms", attempt.times.granted);
  put_time(times, "demand_seen_ms", attempt.times.demand_seen);
  put_time(times, "package_acquired_ms", attempt.times.package_acquired);
  put_time(times, "materialized_ms", attempt.times.materialized);
  put_time(times, "prepared_ms", attempt.times.prepared);
  put_time(times, "registered_ms", attempt.times.registered);
  put_time(times, "held_ms", attempt.times.held);
  put_time(times, "started_ms", attempt.times.started);
  return document;
}

json journal_document(domain::JournalState state, std::string_view message) {
  return {{"state", word(domain::to_string(state))}, {"message", told(message)}};
}

json slot_document(const domain::Policy& policy, std::int64_t slot, domain::SlotRefusal refusal) {
  return {{"slot", slot},
          {"path", policy.root + "/" + domain::slot_directory_name(slot)},
          {"refusal", word(domain::to_string(refusal))},
          {"remedy", word(domain::remedy(refusal))},
          {"attempt", nullptr}};
}

json sandbox_document(const reconcile::SandboxView& view) {
  json document{{"provider", view.provider},
                {"environment", nullptr},
                {"attempt", told(view.attempt)},
                {"remedy",
                 "it is not certain whose this sandbox is, so it is left alone; look at it and remove it by "
                 "hand if it is not needed"}};
  if (!view.environment.empty()) document["environment"] = shortened(domain::EnvironmentId(view.environment));
  return document;
}

json policy_document(const reconcile::PolicyView& view) {
  json document{{"name", view.policy.name.str()},
                {"configured", view.configured},
                {"target", view.policy.target.str()},
                {"provider", view.policy.provider.str()},
                {"state", word(domain::to_string(view.policy.state))},
                {"min", view.policy.min},
                {"max", view.policy.max},
                {"warm", view.policy.warm},
                {"queued", view.queued},
                {"busy", view.busy},
                {"active", view.active},
                {"waiting", view.waiting},
                {"limited_by", word(domain::to_string(view.limited_by))},
                {"workspace", word(domain::to_string(view.policy.workspace))},
                {"root", view.policy.root},
                {"root_refusal", nullptr},
                {"remedy", told(view.remedy)},
                {"note", told(view.note)},
                {"refused_slots", json::array()}};
  if (!view.root_refusal.empty()) document["root_refusal"] = view.root_refusal;
  for (const auto& [slot, refusal] : view.refused_slots)
    document["refused_slots"].push_back(slot_document(view.policy, slot, refusal));
  return document;
}

json target_document(const reconcile::TargetView& view) {
  json document{
      {"target", view.target.target.str()}, {"gateway", view.target.gateway.str()},
      {"last_contact_ms", nullptr},         {"credential", word(domain::to_string(view.credential))},
      {"error", told(view.error)},          {"recovering", view.recovering},
      {"refused_jobs", json::object()}};
  if (view.last_contact) document["last_contact_ms"] = view.last_contact->wall_ms;
  for (const auto& [refusal, count] : view.refused_jobs) {
    document["refused_jobs"][std::string(domain::to_string(refusal))] = count;
  }
  return document;
}

json instance_document(const plugin::InstanceStatus& instance) {
  return {{"name", instance.name.str()},      {"kind", word(plugin::to_string(instance.kind))},
          {"plugin", instance.plugin},        {"version", instance.version},
          {"ready", instance.ready},          {"stuck", instance.stuck},
          {"refusal", told(instance.refusal)}};
}

using SlotRefusals = std::map<domain::AttemptId, domain::SlotRefusal>;

json attempts_array(const std::vector<Attempt>& attempts, const SlotRefusals& quarantined = {}) {
  json rows = json::array();
  for (const Attempt& attempt : attempts) {
    json document = attempt_document(attempt);
    const auto refused = quarantined.find(attempt.id);
    if (refused != quarantined.end()) document["slot_refusal"] = word(domain::to_string(refused->second));
    rows.push_back(std::move(document));
  }
  return rows;
}

// Of all policies, the removed ones included: it stays taken until it can be cleaned.
json quarantined_array(const std::vector<Attempt>& attempts, const SlotRefusals& quarantined) {
  json rows = json::array();
  for (const Attempt& attempt : attempts) {
    const auto refused = quarantined.find(attempt.id);
    if (refused == quarantined.end() || !attempt.slot) continue;
    json document = slot_document(attempt.policy, *attempt.slot, refused->second);
    document["attempt"] = attempt.id.str();
    document["policy"] = attempt.policy.name.str();
    rows.push_back(std::move(document));
  }
  return rows;
}

// Text that is not UTF-8 is replaced, never a reason to answer nothing.
std::string dump(const json& document) {
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::string status_json(const StatusInput& input, const reconcile::Engine& engine) {
  const auto attempts = engine.attempts();
  const auto quarantined = engine.quarantined_slots();
  const reconcile::JournalView journal = engine.journal();
  json document{{"installation", input.installation},
                {"version", input.version},
                {"running", true},
                {"started_at_ms", input.started_at_ms},
                {"draining", engine.draining()},
                {"journal", journal_document(journal.state, journal.message)},
                {"host", {{"capacity", input.host_capacity}, {"active", engine.active()}}},
                {"policies", json::array()},
                {"instances", json::array()},
                {"targets", json::array()},
                {"attempts", attempts_array(attempts, quarantined)},
                {"quarantined_slots", quarantined_array(attempts, quarantined)},
                {"quarantined_sandboxes", json::array()},
                {"notices", json::array()}};
  for (const auto& view : engine.policies())
    document["policies"].push_back(policy_document(view));
  for (const auto& view : engine.quarantined_sandboxes())
    document["quarantined_sandboxes"].push_back(sandbox_document(view));
  for (const auto& view : engine.targets())
    document["targets"].push_back(target_document(view));
  for (const auto& instance : input.instances)
    document["instances"].push_back(instance_document(instance));
  for (const std::string& notice : input.notices)
    document["notices"].push_back(told(notice));
  return dump(document);
}

std::string explanation_json(const reconcile::Explanation& explanation) {
  return dump(json{{"limited_by", word(domain::to_string(explanation.limited_by))},
                   {"facts", explanation.facts},
                   {"factors", explanation.factors},
                   {"remedies", explanation.remedies}});
}

std::string offline_json(const OfflineInput& input) {
  json document{{"running", false},
                {"process", nullptr},
                {"journal", journal_document(input.journal, input.message)},
                {"attempts", nullptr}};
  if (input.active) document["attempts"] = attempts_array(*input.active);
  if (input.holder) document["process"] = *input.holder;
  return dump(document);
}

std::string attempts_json(const std::vector<Attempt>& attempts) {
  return dump(json{{"attempts", attempts_array(attempts)}});
}

}  // namespace agent::daemon
