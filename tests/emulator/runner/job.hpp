// What the server hands to a listener and the listener to its worker, and how a worker's exit code reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace emulator::runner {

struct JobMessage {
  std::int64_t id = 0;
  std::int64_t run_id = 0;
  int attempt = 1;
  std::string name;
  std::string owner;
  std::string repository;
  std::string runner_name;
  std::string script;
  std::string server_url;   // for the job's environment
  std::string work_folder;  // relative to the root, or absolute
};

std::optional<JobMessage> parse_job(const std::string& json);
std::string to_json(const JobMessage& job);

// A worker's exit code is 100 plus one of these.
enum class JobResult { succeeded = 0, failed = 2, cancelled = 3 };
inline constexpr int kWorkerExitBase = 100;

}  // namespace emulator::runner
