// One listener's life: a session, the wait for a job, the job, the report.
#pragma once

#include <cstdint>
#include <filesystem>

#include "runner/job.hpp"
#include "runner/layout.hpp"
#include "runner/server_link.hpp"
#include "runner/signals.hpp"

namespace emulator::runner {

namespace exit_code {
inline constexpr int success = 0;
inline constexpr int terminated = 1;
inline constexpr int updating = 3;
inline constexpr int once_updating = 4;
inline constexpr int session_conflict = 5;
inline constexpr int version_deprecated = 7;
}  // namespace exit_code

class Listener {
 public:
  Listener(std::filesystem::path root, Identity identity, DiagnosticLog& log, std::int64_t exec_at_ms);
  // Returns the process's exit code.
  int run();

 private:
  int open_session();
  int wait_for_jobs();
  // Nothing if the job was not ours after all, or if the runner is not for one job only.
  std::optional<int> take_job(const std::string& json);
  int run_worker(JobMessage job);
  void report(std::int64_t job, const std::string& result, int exit_code);
  // Waits, unless a signal asks for the end.
  bool pause(int milliseconds);
  [[nodiscard]] int stopped_code() const;

  std::filesystem::path root_;
  Identity identity_;
  DiagnosticLog& log_;
  std::int64_t exec_at_ms_;
  SignalFd signals_;
  ServerLink link_;
  int stop_signal_ = 0;
};

}  // namespace emulator::runner
