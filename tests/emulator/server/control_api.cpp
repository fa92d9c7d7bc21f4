#include "server/control_api.hpp"

#include <charconv>
#include <stdexcept>

#include "server/render.hpp"
#include "wire/text.hpp"

namespace emulator {
namespace {

using nlohmann::json;

constexpr int kMostJobsAtOnce = 10'000;

// A wrong call of the control API; its text goes back to the test's author.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::int64_t number(const std::string& text) {
  std::int64_t value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

json answer_ids(const std::vector<std::int64_t>& ids) { return {{"ids", ids}}; }

std::vector<std::int64_t> queue_jobs(World& world, const json& body) {
  JobRequest wanted;
  wanted.repository = body.at("repository").get<std::string>();
  wanted.labels = body.at("labels").get<std::vector<std::string>>();
  wanted.script = body.value("script", "true");
  wanted.name = body.value("name", wanted.name);
  wanted.runner_group_id = body.value("runner_group_id", std::int64_t{0});
  wanted.count = body.value("count", 1);
  const std::string state = body.value("state", "queued");
  if (state != "queued" && state != "waiting") throw Refused("state is queued or waiting, not " + state);
  wanted.status = state == "queued" ? JobStatus::queued : JobStatus::waiting;
  if (wanted.count < 1 || wanted.count > kMostJobsAtOnce) throw Refused("count is 1 to 10000");
  if (world.find_repository(wanted.repository) == nullptr) {
    throw Refused("the repository " + wanted.repository +
                  " is not known; add it with POST /_control/targets");
  }
  if (!body.value("separate_runs", false)) return world.queue(wanted, wall_clock_ms());
  std::vector<std::int64_t> ids;
  for (int left = std::exchange(wanted.count, 1); left > 0; --left) {
    const auto added = world.queue(wanted, wall_clock_ms());
    ids.insert(ids.end(), added.begin(), added.end());
  }
  return ids;
}

Fault read_fault(const json& body) {
  Fault fault;
  const auto name = body.at("action").get<std::string>();
  const auto action = fault_action(name);
  if (!action) throw Refused("there is no fault action " + name);
  fault.action = *action;
  const bool session =
      fault.action == FaultAction::session_conflict || fault.action == FaultAction::version_deprecated;
  const bool update = fault.action == FaultAction::update;
  fault.method = body.value("method", session ? "POST" : "*");
  fault.path = body.value("path", session  ? "/_runner/sessions"
                                  : update ? "/_runner/sessions/*/message"
                                           : "*");
  fault.query = body.value("query", fault.query);
  fault.target = body.value("target", fault.target);
  fault.skip = body.value("skip", 0);
  fault.count = body.value("count", 1);
  fault.delay_ms = body.value("delay_ms", std::int64_t{0});
  fault.status = body.value("status", fault.action == FaultAction::status ? 500 : 0);
  fault.body = body.value("body", "");
  fault.content_type = body.value("content_type", "");
  fault.retry_after = body.value("retry_after", -1);
  if (body.contains("execute")) fault.execute = body.at("execute").get<bool>();
  fault.as_of_ms = body.value("as_of_ms", std::int64_t{0});
  fault.for_ms = body.value("for_ms", std::int64_t{0});
  if (body.contains("headers")) {
    for (const auto& [key, value] : body.at("headers").items()) {
      fault.headers.emplace_back(key, value.get<std::string>());
    }
  }
  fault.created_at = wall_clock_ms();
  return fault;
}

}  // namespace

Response ControlApi::handle(const Request& request) {
  try {
    if (request.method == "GET") return get(request);
    if (request.method == "POST") return post(request);
    if (request.method == "DELETE" && request.parts.size() == 2 && request.parts[1] == "faults") {
      parts_.faults.clear();
      parts_.runners.dispatch();
      return json_response(200, "{}");
    }
    if (request.method == "DELETE" && request.parts.size() == 3 && request.parts[1] == "faults") {
      const bool known = parts_.faults.remove(number(request.parts[2]));
      parts_.runners.dispatch();
      return known ? json_response(200, "{}") : error_response(404, "there is no such fault");
    }
    if (request.method == "DELETE" && request.parts.size() == 2 && request.parts[1] == "requests") {
      parts_.log.clear();
      return json_response(200, "{}");
    }
    return error_response(404, "there is no such control call; README.md lists them");
  } catch (const std::exception& wrong) {  // a field of the wrong type, or Refused
    return error_response(400, wrong.what());
  }
}

Response ControlApi::get(const Request& request) {
  const std::string what = request.parts.size() == 2 ? request.parts[1] : "";
  if (what == "summary") return summary();
  if (what == "jobs") return jobs(request);
  if (what == "runners") return registrations();
  if (what == "requests") return requests(request);
  if (what != "faults") return error_response(404, "there is no such control call; README.md lists them");
  json list = json::array();
  for (const auto& fault : parts_.faults.all()) {
    list.push_back({{"id", fault.id}, {"action", to_string(fault.action)}, {"hits", fault.hits}});
  }
  return json_response(200, dump({{"faults", list}}));
}

Response ControlApi::post(const Request& request) {
  const std::string what = request.parts.size() == 2 ? request.parts[1] : "";
  const json body = request.body.empty() ? json::object() : json::parse(request.body);
  World& world = parts_.world;
  json answer = json::object();
  if (what == "targets") {
    const auto name = body.at("repository").get<std::string>();
    if (split(name, '/').size() != 2) throw Refused("a repository is owner/name");
    answer["id"] = world.add_repository(name).id;
    for (const auto& group : body.value("runner_groups", json::array()))
      world.add_group(group.get<std::int64_t>());
  } else if (what == "jobs") {
    answer = answer_ids(queue_jobs(world, body));
  } else if (what == "release" || what == "cancel" || what == "rerun") {
    Job* job = world.find_job(body.at("job").get<std::int64_t>());
    if (job == nullptr) throw Refused("there is no such job");
    if (what == "release") world.release(*job, wall_clock_ms());
    if (what == "cancel") parts_.runners.cancel(*job);
    if (what == "rerun") answer = answer_ids(world.rerun(job->run_id, wall_clock_ms()));
  } else if (what == "faults") {
    const Fault fault = read_fault(body);
    answer["id"] = parts_.faults.add(fault);
    if (glob_match(fault.path, "/_runner/sessions/x/message")) parts_.runners.wake_all();
  } else if (what == "settings") {
    Settings& settings = parts_.settings;
    settings.offline_after_ms = body.value("offline_after_ms", settings.offline_after_ms);
    settings.accept_within_ms = body.value("accept_within_ms", settings.accept_within_ms);
    settings.lost_after_ms = body.value("lost_after_ms", settings.lost_after_ms);
    settings.removal_after_ms = body.value("removal_after_ms", settings.removal_after_ms);
    settings.rate_limit = body.value("rate_limit", settings.rate_limit);
    settings.rate_remaining = body.value("rate_remaining", settings.rate_remaining);
    settings.token = body.value("token", settings.token);
    settings.token_expires_at_ms = body.value("token_expires_at_ms", settings.token_expires_at_ms);
    settings.clock_offset_ms = body.value("clock_offset_ms", settings.clock_offset_ms);
  } else if (what == "app") {
    parts_.app.change(body);
  } else if (what == "packages") {
    if (body.value("withdraw_all", false)) parts_.packages.withdraw_all();
    if (body.contains("file"))
      parts_.packages.offer(body.at("file").get<std::string>(), body.value("checksum", ""));
  } else if (what == "deprecate") {
    parts_.runners.deprecate(body.at("version").get<std::string>());
  } else if (what == "stop") {
    parts_.server.after(std::chrono::milliseconds(20), [&server = parts_.server] { server.stop(); });
  } else {
    return error_response(404, "there is no such control call; README.md lists them");
  }
  parts_.runners.dispatch();
  return json_response(200, dump(answer));
}

Response ControlApi::summary() const {
  std::int64_t waiting = 0;
  std::int64_t queued = 0;
  std::int64_t running = 0;
  std::int64_t completed = 0;
  std::int64_t failed = 0;
  std::int64_t twice = 0;
  for (const auto& job : parts_.world.jobs()) {
    waiting += job.status == JobStatus::waiting ? 1 : 0;
    queued += job.status == JobStatus::queued ? 1 : 0;
    running += job.status == JobStatus::in_progress ? 1 : 0;
    completed += job.status == JobStatus::completed ? 1 : 0;
    failed += job.status == JobStatus::completed && job.result != "success" ? 1 : 0;
    twice += job.started_by.size() > 1 ? 1 : 0;
  }
  return json_response(200, dump({{"waiting", waiting},
                                  {"queued", queued},
                                  {"in_progress", running},
                                  {"completed", completed},
                                  {"failed", failed},
                                  {"started_twice", twice},
                                  {"registrations", parts_.world.active_registrations().size()},
                                  {"registered_total", parts_.world.registrations().size()},
                                  {"requests", parts_.log.total()}}));
}

Response ControlApi::jobs(const Request& request) const {
  const auto only = request.query_value("status");
  json list = json::array();
  for (const auto& job : parts_.world.jobs()) {
    if (only && *only != to_string(job.status)) continue;
    list.push_back({{"id", job.id},
                    {"run_id", job.run_id},
                    {"attempt", job.attempt},
                    {"repository", job.repository},
                    {"name", job.name},
                    {"labels", job.labels},
                    {"status", to_string(job.status)},
                    {"result", job.result},
                    {"exit_code", job.exit_code},
                    {"queued_at_ms", job.queued_at},
                    {"assigned_at_ms", job.assigned_at},
                    {"started_at_ms", job.started_at},
                    {"completed_at_ms", job.completed_at},
                    {"listener_exec_at_ms", job.listener_exec_at},
                    {"runner_id", job.runner_id},
                    {"runner_name", job.runner_name},
                    {"starts", job.started_by.size()},
                    {"started_by", job.started_by},
                    {"assignments", job.assignments.size()}});
  }
  return json_response(200, dump({{"jobs", list}}));
}

Response ControlApi::registrations() const {
  json list = json::array();
  for (const auto& registration : parts_.world.registrations()) {
    list.push_back({{"id", registration.id},
                    {"name", registration.name},
                    {"scope", registration.scope},
                    {"labels", registration.labels},
                    {"runner_group_id", registration.group_id},
                    {"work_folder", registration.work_folder},
                    {"registered", registration.removed_at == 0},
                    {"registered_at_ms", registration.registered_at},
                    {"removed_at_ms", registration.removed_at},
                    {"removed_by", to_string(registration.removed_by)},
                    {"online", registration.online},
                    {"busy", registration.job_id != 0},
                    {"session_at_ms", registration.session_at},
                    {"listener_exec_at_ms", registration.listener_exec_at},
                    {"listener_pid", registration.listener_pid},
                    {"version", registration.version},
                    {"job_id", registration.last_job_id}});
  }
  return json_response(200, dump({{"runners", list}}));
}

Response ControlApi::requests(const Request& request) const {
  const std::string method = request.query_value("method").value_or("*");
  const std::string path = request.query_value("path").value_or("*");
  const std::int64_t since = number(request.query_value("since").value_or("0"));
  json list = json::array();
  for (const auto& entry : parts_.log.entries()) {
    if (entry.sequence <= since || (method != "*" && method != entry.method) || !glob_match(path, entry.path))
      continue;
    list.push_back({{"sequence", entry.sequence},
                    {"at_ms", entry.at_ms},
                    {"method", entry.method},
                    {"path", entry.path},
                    {"query", entry.query},
                    {"status", entry.status},
                    {"fault", entry.fault}});
  }
  return json_response(200, dump({{"requests", list}, {"total", parts_.log.total()}}));
}

}  // namespace emulator
