#include "runner/job.hpp"

#include <nlohmann/json.hpp>

namespace emulator::runner {

using nlohmann::json;

std::optional<JobMessage> parse_job(const std::string& text) {
  const json body = json::parse(text, nullptr, false);
  try {
    JobMessage job;
    job.id = body.at("id").get<std::int64_t>();
    job.run_id = body.at("runId").get<std::int64_t>();
    job.attempt = body.at("attempt").get<int>();
    job.name = body.at("name").get<std::string>();
    job.owner = body.at("owner").get<std::string>();
    job.repository = body.at("repository").get<std::string>();
    job.runner_name = body.at("runnerName").get<std::string>();
    job.script = body.at("script").get<std::string>();
    job.server_url = body.value("serverUrl", "");
    job.work_folder = body.value("workFolder", "_work");
    return job;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

std::string to_json(const JobMessage& job) {
  return json{{"id", job.id},
              {"runId", job.run_id},
              {"attempt", job.attempt},
              {"name", job.name},
              {"owner", job.owner},
              {"repository", job.repository},
              {"runnerName", job.runner_name},
              {"script", job.script},
              {"serverUrl", job.server_url},
              {"workFolder", job.work_folder}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace emulator::runner
