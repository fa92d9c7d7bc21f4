#include "client/emulator_client.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "wire/http_client.hpp"
#include "wire/text.hpp"

namespace emulator {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr auto kCallLimit = std::chrono::seconds(10);
constexpr auto kPollEvery = std::chrono::milliseconds(20);

json checked(const ApiReply& reply, const std::string& what) {
  if (reply.status == 0) throw std::runtime_error("the emulator did not answer " + what);
  if (reply.status < 200 || reply.status > 299) {
    throw std::runtime_error("the emulator refused " + what + ": " + reply.body);
  }
  return reply.body.empty() ? json::object() : json::parse(reply.body);
}

json control(const EmulatorClient& client, const std::string& method, const std::string& path,
             const json& body = nullptr) {
  const std::string target = "/_control/" + path;
  return checked(client.call(method, target, body.is_null() ? "" : body.dump()), method + " " + target);
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '%' || c == '&' || c == '#' || c == ' ' || c == '+') {
      constexpr std::string_view hex = "0123456789ABCDEF";
      out.push_back('%');
      out.push_back(hex[static_cast<unsigned char>(c) >> 4U]);
      out.push_back(hex[static_cast<unsigned char>(c) & 15U]);
    } else {
      out.push_back(c);
    }
  }
  return out;
}

JobView read_job(const json& from) {
  JobView job;
  job.id = from.at("id");
  job.run_id = from.at("run_id");
  job.repository = from.at("repository");
  job.name = from.at("name");
  job.labels = from.at("labels").get<std::vector<std::string>>();
  job.status = from.at("status");
  job.result = from.at("result");
  job.exit_code = from.at("exit_code");
  job.queued_at_ms = from.at("queued_at_ms");
  job.assigned_at_ms = from.at("assigned_at_ms");
  job.started_at_ms = from.at("started_at_ms");
  job.completed_at_ms = from.at("completed_at_ms");
  job.listener_exec_at_ms = from.at("listener_exec_at_ms");
  job.runner_id = from.at("runner_id");
  job.runner_name = from.at("runner_name");
  job.starts = from.at("starts");
  job.started_by = from.at("started_by").get<std::vector<std::string>>();
  job.assignments = from.at("assignments");
  return job;
}

RunnerView read_runner(const json& from) {
  RunnerView runner;
  runner.id = from.at("id");
  runner.name = from.at("name");
  runner.scope = from.at("scope");
  runner.labels = from.at("labels").get<std::vector<std::string>>();
  runner.runner_group_id = from.at("runner_group_id");
  runner.work_folder = from.at("work_folder");
  runner.registered = from.at("registered");
  runner.registered_at_ms = from.at("registered_at_ms");
  runner.removed_at_ms = from.at("removed_at_ms");
  runner.removed_by = from.at("removed_by");
  runner.online = from.at("online");
  runner.busy = from.at("busy");
  runner.listener_exec_at_ms = from.at("listener_exec_at_ms");
  runner.listener_pid = from.at("listener_pid");
  runner.version = from.at("version");
  runner.job_id = from.at("job_id");
  return runner;
}

bool poll_until(std::chrono::milliseconds limit, const std::function<bool()>& holds) {
  const auto until = Clock::now() + limit;
  while (!holds()) {
    if (Clock::now() >= until) return false;
    std::this_thread::sleep_for(kPollEvery);
  }
  return true;
}

}  // namespace

EmulatorClient::EmulatorClient(std::string url, std::string token)
    : url_(std::move(url)), token_(std::move(token)) {}

ApiReply EmulatorClient::call(const std::string& method, const std::string& target, const std::string& body,
                              const std::map<std::string, std::string>& headers) const {
  const auto url = parse_http_url(url_);
  if (!url) throw std::runtime_error("not an http address: " + url_);
  // A connection for each call: a repeated request on a kept one would hide a lost answer.
  HttpClient http(url->host, url->port);
  HttpCall wanted;
  wanted.method = method;
  wanted.target = url->path + target;
  wanted.body = body;
  wanted.timeout = kCallLimit;
  wanted.headers = {{"Connection", "close"}};
  for (const auto& header : headers)
    wanted.headers.push_back(header);
  const HttpReply reply = http.call(wanted);
  ApiReply out;
  if (reply.failure != HttpFailure::none) return out;
  out.status = reply.status;
  out.body = reply.body;
  for (const auto& [name, value] : reply.headers)
    out.headers[name] = value;
  return out;
}

ApiReply EmulatorClient::api(const std::string& method, const std::string& path, const std::string& body,
                             const std::map<std::string, std::string>& headers) const {
  auto with_token = headers;
  with_token.emplace("Authorization", "Bearer " + token_);
  return call(method, "/api/v3" + path, body, with_token);
}

JitRegistration EmulatorClient::register_runner(const std::string& scope, const std::string& name,
                                                const std::vector<std::string>& labels) const {
  const std::string base = scope.find('/') == std::string::npos ? "/orgs/" : "/repos/";
  const json body{{"name", name}, {"labels", labels}, {"runner_group_id", 1}, {"work_folder", "_work"}};
  const std::string path = base + scope + "/actions/runners/generate-jitconfig";
  const json answer = checked(api("POST", path, body.dump()), path);
  return {answer.at("runner").at("id"), answer.at("encoded_jit_config")};
}

void EmulatorClient::add_repository(const std::string& name,
                                    const std::vector<std::int64_t>& runner_groups) const {
  control(*this, "POST", "targets", {{"repository", name}, {"runner_groups", runner_groups}});
}

std::vector<std::int64_t> EmulatorClient::queue(const JobSpec& spec) const {
  const json body{{"repository", spec.repository},
                  {"labels", spec.labels},
                  {"script", spec.script},
                  {"count", spec.count},
                  {"separate_runs", spec.separate_runs},
                  {"state", spec.waiting ? "waiting" : "queued"},
                  {"runner_group_id", spec.runner_group_id},
                  {"name", spec.name}};
  return control(*this, "POST", "jobs", body).at("ids").get<std::vector<std::int64_t>>();
}

void EmulatorClient::release(std::int64_t job) const { control(*this, "POST", "release", {{"job", job}}); }
void EmulatorClient::cancel(std::int64_t job) const { control(*this, "POST", "cancel", {{"job", job}}); }

std::vector<std::int64_t> EmulatorClient::rerun(std::int64_t job) const {
  return control(*this, "POST", "rerun", {{"job", job}}).at("ids").get<std::vector<std::int64_t>>();
}

std::vector<JobView> EmulatorClient::jobs() const {
  std::vector<JobView> all;
  const json from = control(*this, "GET", "jobs");
  for (const auto& job : from.at("jobs"))
    all.push_back(read_job(job));
  return all;
}

JobView EmulatorClient::job(std::int64_t id) const {
  for (auto& job : jobs()) {
    if (job.id == id) return job;
  }
  throw std::runtime_error("the emulator has no job " + std::to_string(id));
}

std::vector<RunnerView> EmulatorClient::runners() const {
  std::vector<RunnerView> all;
  const json from = control(*this, "GET", "runners");
  for (const auto& runner : from.at("runners"))
    all.push_back(read_runner(runner));
  return all;
}

RunnerView EmulatorClient::runner(std::int64_t id) const {
  for (auto& runner : runners()) {
    if (runner.id == id) return runner;
  }
  throw std::runtime_error("the emulator has no runner " + std::to_string(id));
}

Summary EmulatorClient::summary() const {
  const json from = control(*this, "GET", "summary");
  return {from.at("waiting"),       from.at("queued"),           from.at("in_progress"),
          from.at("completed"),     from.at("failed"),           from.at("started_twice"),
          from.at("registrations"), from.at("registered_total"), from.at("requests")};
}

std::vector<RequestView> EmulatorClient::requests(const std::string& method, const std::string& path) const {
  std::vector<RequestView> all;
  const json from = control(*this, "GET", "requests?method=" + escaped(method) + "&path=" + escaped(path));
  for (const auto& entry : from.at("requests")) {
    all.push_back({entry.at("sequence"), entry.at("at_ms"), entry.at("method"), entry.at("path"),
                   entry.at("query"), entry.at("status"), entry.at("fault")});
  }
  return all;
}

void EmulatorClient::clear_requests() const { control(*this, "DELETE", "requests"); }

std::int64_t EmulatorClient::add_fault(const FaultSpec& fault) const {
  json body{{"action", fault.action},
            {"query", fault.query},
            {"target", fault.target},
            {"skip", fault.skip},
            {"count", fault.count},
            {"delay_ms", fault.delay_ms},
            {"body", fault.body},
            {"as_of_ms", fault.as_of_ms},
            {"content_type", fault.content_type},
            {"retry_after", fault.retry_after},
            {"headers", fault.headers},
            {"for_ms", fault.for_ms}};
  if (fault.method != "*") body["method"] = fault.method;
  if (!fault.path.empty()) body["path"] = fault.path;
  if (fault.status != 0) body["status"] = fault.status;
  if (fault.execute) body["execute"] = *fault.execute;
  return control(*this, "POST", "faults", body).at("id");
}

void EmulatorClient::remove_fault(std::int64_t id) const {
  control(*this, "DELETE", "faults/" + std::to_string(id));
}

std::int64_t EmulatorClient::fault_hits(std::int64_t id) const {
  const json answer = control(*this, "GET", "faults");
  for (const auto& fault : answer.at("faults"))
    if (fault.at("id") == id) return fault.at("hits");
  return 0;
}

void EmulatorClient::clear_faults() const { control(*this, "DELETE", "faults"); }

void EmulatorClient::change_settings(const SettingsChange& change) const {
  json body = json::object();
  const auto put = [&](const char* name, const auto& value) {
    if (value) body[name] = *value;
  };
  put("offline_after_ms", change.offline_after_ms);
  put("accept_within_ms", change.accept_within_ms);
  put("lost_after_ms", change.lost_after_ms);
  put("removal_after_ms", change.removal_after_ms);
  put("rate_limit", change.rate_limit);
  put("rate_remaining", change.rate_remaining);
  put("token", change.token);
  put("token_expires_at_ms", change.token_expires_at_ms);
  put("clock_offset_ms", change.clock_offset_ms);
  control(*this, "POST", "settings", body);
}

void EmulatorClient::change_app(const AppChange& change) const {
  json body{{"expire_tokens", change.expire_tokens}, {"installations", json::array()}};
  const auto put = [&](const char* name, const auto& value) {
    if (value) body[name] = *value;
  };
  put("id", change.id);
  put("client_id", change.client_id);
  put("public_key", change.public_key);
  put("revoked", change.revoked);
  put("token_lifetime_ms", change.token_lifetime_ms);
  put("suspend", change.suspend);
  put("resume", change.resume);
  put("uninstall", change.uninstall);
  for (const auto& one : change.installations)
    body["installations"].push_back({{"id", one.id}, {"account", one.account}});
  control(*this, "POST", "app", body);
}

void EmulatorClient::deprecate(const std::string& runner_version) const {
  control(*this, "POST", "deprecate", {{"version", runner_version}});
}

void EmulatorClient::offer_package(const std::string& file, const std::string& checksum) const {
  control(*this, "POST", "packages", {{"file", file}, {"checksum", checksum}});
}

void EmulatorClient::withdraw_packages() const {
  control(*this, "POST", "packages", {{"withdraw_all", true}});
}

bool EmulatorClient::wait_until(const std::function<bool(const Summary&)>& holds,
                                std::chrono::milliseconds limit) const {
  return poll_until(limit, [&] { return holds(summary()); });
}

bool EmulatorClient::wait_completed(int jobs, std::chrono::milliseconds limit) const {
  return wait_until([jobs](const Summary& now) { return now.completed >= jobs; }, limit);
}

bool EmulatorClient::wait_for_runner(std::int64_t id, const std::function<bool(const RunnerView&)>& holds,
                                     std::chrono::milliseconds limit) const {
  return poll_until(limit, [&] { return holds(runner(id)); });
}

bool EmulatorClient::wait_for_job(std::int64_t id, const std::function<bool(const JobView&)>& holds,
                                  std::chrono::milliseconds limit) const {
  return poll_until(limit, [&] { return holds(job(id)); });
}

}  // namespace emulator
