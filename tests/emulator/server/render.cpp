#include "server/render.hpp"

#include "wire/text.hpp"

namespace emulator {
namespace {

using nlohmann::json;

constexpr std::string_view kSha = "0123456789abcdef0123456789abcdef01234567";

json time_or_null(Millis at, Millis when) {
  return at == 0 || at > when ? json(nullptr) : json(iso_time(at));
}

std::string api(const Settings& settings, const std::string& repository) {
  return settings.url + "/api/v3/repos/" + repository;
}

std::string run_conclusion(const World& world, const Run& run) {
  std::string conclusion = "success";
  for (const auto id : run.jobs) {
    const Job& job = *world.find_job(id);
    if (job.attempt == run.attempt && job.result != "success" && conclusion != "failure")
      conclusion = job.result;
  }
  return conclusion;
}

}  // namespace

json render_run(const World& world, const Settings& settings, const Run& run, Millis when) {
  const auto status = world.run_status(run, when);
  const std::string url = api(settings, run.repository) + "/actions/runs/" + std::to_string(run.id);
  return {{"id", run.id},
          {"name", "CI"},
          {"display_title", "CI"},
          {"node_id", "WFR_" + std::to_string(run.id)},
          {"head_branch", "main"},
          {"head_sha", kSha},
          {"path", ".github/workflows/ci.yml"},
          {"run_number", run.number},
          {"run_attempt", run.attempt},
          {"event", "push"},
          {"status", to_string(status)},
          {"conclusion", status == JobStatus::completed ? json(run_conclusion(world, run)) : json(nullptr)},
          {"workflow_id", 1},
          {"url", url},
          {"html_url", settings.url + "/" + run.repository + "/actions/runs/" + std::to_string(run.id)},
          {"jobs_url", url + "/jobs"},
          {"created_at", iso_time(run.created_at)},
          {"updated_at", iso_time(run.created_at)},
          {"run_started_at", iso_time(run.created_at)},
          {"repository", render_repository(settings, *world.find_repository(run.repository))}};
}

json render_job(const World& world, const Settings& settings, const Job& job, Millis when) {
  const auto status = job.status_at(when);
  const auto runner_id = world.runner_of(job, when);
  const bool taken = runner_id != 0;
  const std::string id = std::to_string(job.id);
  const auto* registration =
      taken ? &world.registrations()[static_cast<std::size_t>(runner_id) - 1] : nullptr;
  json out{{"id", job.id},
           {"run_id", job.run_id},
           {"run_url", api(settings, job.repository) + "/actions/runs/" + std::to_string(job.run_id)},
           {"run_attempt", job.attempt},
           {"workflow_name", "CI"},
           {"node_id", "CR_" + id},
           {"head_branch", "main"},
           {"head_sha", kSha},
           {"url", api(settings, job.repository) + "/actions/jobs/" + id},
           {"html_url", settings.url + "/" + job.repository + "/actions/runs/" + std::to_string(job.run_id) +
                            "/job/" + id},
           {"check_run_url", api(settings, job.repository) + "/check-runs/" + id},
           {"name", job.name},
           {"status", to_string(status)},
           {"conclusion", status == JobStatus::completed ? json(job.result) : json(nullptr)},
           {"created_at", iso_time(job.created_at)},
           {"started_at",
            iso_time(job.started_at != 0 && job.started_at <= when ? job.started_at : job.created_at)},
           {"completed_at", time_or_null(job.completed_at, when)},
           {"steps", json::array()},
           {"labels", job.labels}};
  out["runner_id"] = taken ? json(runner_id) : json(nullptr);
  out["runner_name"] = taken ? json(registration->name) : json(nullptr);
  out["runner_group_id"] = taken ? json(registration->group_id) : json(nullptr);
  out["runner_group_name"] = taken ? json("Default") : json(nullptr);
  return out;
}

json render_runner(const World& world, const Registration& registration, Millis when) {
  json labels = json::array();
  for (std::size_t i = 0; i < registration.labels.size(); ++i) {
    labels.push_back({{"id", i + 1}, {"name", registration.labels[i]}, {"type", "custom"}});
  }
  const Job* last = world.find_job(registration.last_job_id);
  const bool busy = last != nullptr && last->held_at(registration.id, when);
  return {{"id", registration.id},
          {"name", registration.name},
          {"os", registration.session_id.empty() ? "unknown" : "linux"},
          {"status", registration.online_at(when) ? "online" : "offline"},
          {"busy", busy},
          {"ephemeral", true},
          {"labels", labels},
          {"runner_group_id", registration.group_id}};
}

json render_repository(const Settings& settings, const Repository& repository) {
  const auto slash = repository.name.find('/');
  return {{"id", repository.id},
          {"node_id", "R_" + std::to_string(repository.id)},
          {"name", repository.name.substr(slash + 1)},
          {"full_name", repository.name},
          {"private", true},
          {"archived", false},
          {"disabled", false},
          {"fork", false},
          {"owner", {{"login", repository.name.substr(0, slash)}, {"id", 1}, {"type", "Organization"}}},
          {"html_url", settings.url + "/" + repository.name},
          {"url", api(settings, repository.name)},
          {"default_branch", "main"}};
}

json render_download(const Settings& settings, const PackageRow& row) {
  json out{{"os", row.os},
           {"architecture", row.architecture},
           {"download_url", settings.url + "/_download/" + row.filename},
           {"filename", row.filename}};
  if (row.checksum_listed) out["sha256_checksum"] = row.checksum;
  return out;
}

std::string dump(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

}  // namespace emulator
