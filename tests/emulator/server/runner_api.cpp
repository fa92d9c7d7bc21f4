#include "server/runner_api.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "server/render.hpp"
#include "wire/text.hpp"

namespace emulator {
namespace {

using nlohmann::json;

constexpr Millis kLongestPoll = 25'000;
constexpr auto kTick = std::chrono::milliseconds(50);

Response coded(int status, std::string_view code, std::string_view message) {
  return json_response(status, dump({{"code", code}, {"message", message}}));
}

Response nothing() {
  Response response;
  response.status = 204;
  return response;
}

std::int64_t number(std::string_view text, std::int64_t otherwise) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? value : otherwise;
}

std::string bearer(const Request& request) {
  const std::string value = request.header("authorization");
  constexpr std::string_view scheme = "bearer ";
  if (value.size() <= scheme.size() || !equal_fold(std::string_view(value).substr(0, scheme.size()), scheme))
    return {};
  return value.substr(scheme.size());
}

}  // namespace

RunnerApi::RunnerApi(World& world, Faults& faults, Settings& settings, HttpServer& server)
    : world_(world), faults_(faults), settings_(settings), server_(server) {
  server_.every(kTick, [this] { tick(); });
}

void RunnerApi::handle(const Request& request, const Reply& reply, Exchange& exchange) {
  const auto& parts = request.parts;  // _runner/sessions[/ID[/message | /jobs/ID/VERB]]
  if (parts.size() < 2 || parts[1] != "sessions") return reply(error_response(404, "Not Found"));
  if (parts.size() == 2 && request.method == "POST") return open_session(request, reply);
  Registration* registration = parts.size() > 2 ? world_.find_session(parts[2]) : nullptr;
  if (registration == nullptr) return reply(coded(404, "session_unknown", "There is no such session."));
  world_.seen(*registration, wall_clock_ms());
  if (parts.size() == 3 && request.method == "DELETE") {
    registration->session_open = false;
    world_.offline(*registration, wall_clock_ms());
    if (Job* job = world_.find_job(registration->job_id); job != nullptr && job->started_at == 0) {
      world_.requeue(*job, wall_clock_ms());
      dispatch();
    }
    return reply(nothing());
  }
  if (parts.size() == 4 && parts[3] == "message" && request.method == "GET") {
    return poll(request, *registration, reply, exchange);
  }
  if (parts.size() == 6 && parts[3] == "jobs" && request.method == "POST") {
    return reply(job_call(request, *registration));
  }
  reply(error_response(404, "Not Found"));
}

void RunnerApi::open_session(const Request& request, const Reply& reply) {
  const json body = json::parse(request.body, nullptr, false);
  if (!body.is_object()) return reply(error_response(400, "Problems parsing JSON"));
  const std::string version = body.value("version", "");
  if (deprecated_.contains(version)) {
    return reply(coded(403, "version_deprecated", "This runner version is deprecated."));
  }
  Registration* registration = nullptr;
  switch (world_.open_session(bearer(request), body.value("nonce", ""), wall_clock_ms(), registration)) {
    case SessionOutcome::opened: break;
    case SessionOutcome::unknown:
      return reply(coded(401, "credential_unknown", "The credential is not known."));
    case SessionOutcome::removed:
      return reply(coded(401, "registration_removed", "The registration has been removed."));
    case SessionOutcome::used:
      return reply(coded(403, "registration_used", "A just-in-time configuration can be used once."));
  }
  registration->listener_exec_at = body.value("execAtMs", std::int64_t{0});
  registration->listener_pid = body.value("pid", std::int64_t{0});
  registration->version = version;
  const json answer{{"sessionId", registration->session_id},
                    {"renewEveryMs", std::clamp<std::int64_t>(settings_.offline_after_ms / 3, 50, 1'000)}};
  reply(json_response(200, dump(answer)));
}

void RunnerApi::poll(const Request& request, Registration& registration, const Reply& reply,
                     Exchange& exchange) {
  if (registration.removed_at != 0 || !registration.session_open) {
    return reply(coded(401, "registration_removed", "The registration has been removed."));
  }
  const auto earlier = std::find_if(polls_.begin(), polls_.end(),
                                    [&](const Poll& p) { return p.registration_id == registration.id; });
  if (earlier != polls_.end()) end_poll(earlier, nothing());
  Job* held = world_.find_job(registration.job_id);
  if (held != nullptr && held->started_at == 0 && !held->undeliverable)
    return answer_job(registration, *held, reply);
  const Millis wait =
      std::clamp<Millis>(number(request.query_value("wait_ms").value_or(""), kLongestPoll), 0, kLongestPoll);
  polls_.push_back({registration.id, reply, wall_clock_ms() + wait});
  registration.polling = true;
  exchange.on_gone([this, id = registration.id] {
    const auto at =
        std::find_if(polls_.begin(), polls_.end(), [&](const Poll& p) { return p.registration_id == id; });
    if (at != polls_.end()) polls_.erase(at);
    if (auto* gone = world_.find_registration(id)) gone->polling = false;
  });
  dispatch();
}

void RunnerApi::answer_job(Registration& registration, const Job& job, const Reply& reply) {
  const auto slash = job.repository.find('/');
  const json message{{"type", "job"},
                     {"job",
                      {{"id", job.id},
                       {"runId", job.run_id},
                       {"attempt", job.attempt},
                       {"name", job.name},
                       {"owner", job.repository.substr(0, slash)},
                       {"repository", job.repository.substr(slash + 1)},
                       {"runnerName", registration.name},
                       {"script", job.script}}}};
  reply(json_response(200, dump(message)));
}

Response RunnerApi::job_call(const Request& request, Registration& registration) {
  Job* job = world_.find_job(number(request.parts[4], 0));
  const std::string& verb = request.parts[5];
  const bool mine = job != nullptr && job->runner_id == registration.id && !job->undeliverable;
  if (!mine) return coded(409, "job_not_yours", "The job is not assigned to this runner.");
  if (verb == "accept") {
    if (job->status != JobStatus::in_progress) return coded(409, "job_not_yours", "The job is over.");
    if (job->started_at == 0) world_.start(*job, registration, wall_clock_ms());
    return json_response(200, "{}");
  }
  if (verb == "renew") {
    const bool over = job->status != JobStatus::in_progress;
    return json_response(200, dump({{"cancel", job->cancel_requested || over}}));
  }
  if (verb != "complete") return error_response(404, "Not Found");
  const json body = json::parse(request.body, nullptr, false);
  if (!body.is_object()) return error_response(400, "Problems parsing JSON");
  if (job->status == JobStatus::in_progress) {
    world_.complete(*job, body.value("result", "failure"), body.value("exitCode", -1), wall_clock_ms());
    finish(registration);
  }
  return json_response(200, "{}");
}

void RunnerApi::finish(Registration& registration) {
  if (settings_.removal_after_ms < 0) return;
  if (settings_.removal_after_ms == 0)
    return world_.remove_registration(registration, RemovedBy::ephemeral, wall_clock_ms());
  server_.after(std::chrono::milliseconds(settings_.removal_after_ms), [this, id = registration.id] {
    if (auto* late = world_.find_registration(id))
      world_.remove_registration(*late, RemovedBy::ephemeral, wall_clock_ms());
  });
}

void RunnerApi::dispatch() {
  for (auto at = world_.queued().begin(); at != world_.queued().end() && !polls_.empty();) {
    Job& job = *world_.find_job(*at++);
    if (faults_.withheld(job.repository, wall_clock_ms())) continue;
    const auto poll = std::find_if(polls_.begin(), polls_.end(), [&](const Poll& candidate) {
      const auto* registration = world_.find_registration(candidate.registration_id);
      return registration->removed_at == 0 && registration->job_id == 0 &&
             world_.may_take(*registration, job);
    });
    if (poll != polls_.end()) hand_out(job, poll);
  }
}

void RunnerApi::hand_out(Job& job, std::list<Poll>::iterator poll) {
  Registration& registration = *world_.find_registration(poll->registration_id);
  const auto fault = faults_.meet_assignment(job.repository);
  world_.assign(job, registration, wall_clock_ms());
  if (!fault) {
    const Reply reply = poll->reply;
    registration.polling = false;
    polls_.erase(poll);
    return answer_job(registration, job, reply);
  }
  job.undeliverable = true;
  server_.after(std::chrono::milliseconds(fault->for_ms), [this, id = job.id] {
    Job* withdrawn = world_.find_job(id);
    if (withdrawn == nullptr || !withdrawn->undeliverable) return;
    world_.requeue(*withdrawn, wall_clock_ms());
    dispatch();
  });
}

void RunnerApi::cancel(Job& job) {
  if (job.status == JobStatus::completed) return;
  if (job.status == JobStatus::in_progress && !job.undeliverable) {
    job.cancel_requested = true;
    return;
  }
  world_.complete(job, "cancelled", -1, wall_clock_ms());
}

void RunnerApi::end_poll(std::list<Poll>::iterator poll, Response response) {
  const Reply reply = std::move(poll->reply);
  if (auto* registration = world_.find_registration(poll->registration_id)) {
    registration->polling = false;
    world_.seen(*registration, wall_clock_ms());
  }
  polls_.erase(poll);
  reply(std::move(response));
}

void RunnerApi::wake_all() {
  while (!polls_.empty())
    end_poll(polls_.begin(), nothing());
}

void RunnerApi::tick() {
  const Millis now = wall_clock_ms();
  for (auto at = polls_.begin(); at != polls_.end();) {
    const auto poll = at++;
    if (poll->deadline <= now) end_poll(poll, nothing());
  }
  const auto listed = world_.active_registrations();
  for (const auto id : listed) {
    Registration& registration = *world_.find_registration(id);
    if (registration.polling) world_.seen(registration, now);
    const Millis silent = now - registration.last_seen;
    if (registration.online && silent > settings_.offline_after_ms) world_.offline(registration, now);
    Job* job = world_.find_job(registration.job_id);
    if (job == nullptr || job->undeliverable) continue;
    if (job->started_at == 0 && now - job->assigned_at > settings_.accept_within_ms) {
      world_.requeue(*job, now);
    } else if (job->started_at != 0 && silent > settings_.lost_after_ms) {
      // The registration stays, offline: an interrupted ephemeral runner is not removed by GitHub for a day.
      registration.session_open = false;
      world_.complete(*job, "failure", -1, now);
    }
  }
  if (!world_.queued().empty()) dispatch();
}

}  // namespace emulator
