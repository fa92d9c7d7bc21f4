// The listener's conversation with the server. Every call has a time limit; what could not be delivered is
// tried again by the caller.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "wire/http_client.hpp"

namespace emulator::runner {

enum class SessionResult { opened, try_again, conflict, refused, deprecated, interrupted };
enum class PollResult { nothing, job, update, try_again, lost, interrupted };

class ServerLink {
 public:
  // `server_url` is http://host:port; `interrupt_fd` ends waits early when it is readable.
  ServerLink(const std::string& server_url, std::string token, int interrupt_fd);

  [[nodiscard]] bool usable() const { return usable_; }
  SessionResult open_session(const std::string& version, std::int64_t exec_at_ms);
  // On `job`, `job_json` is the job's message.
  PollResult poll(std::string& job_json);
  // Nothing if it is not known whether it arrived.
  std::optional<bool> accept(std::int64_t job);
  // True if the job shall be cancelled.
  bool renew(std::int64_t job);
  bool complete(std::int64_t job, const std::string& result, int exit_code);
  void close_session();
  [[nodiscard]] int renew_every_ms() const { return renew_every_ms_; }

 private:
  HttpReply send(const std::string& method, const std::string& path, std::string body, int timeout_ms,
                 bool interruptible);

  HttpClient http_;
  bool usable_;
  std::string prefix_;
  std::string token_;
  std::string nonce_;
  int interrupt_fd_;
  std::string session_;
  int renew_every_ms_ = 1'000;
};

}  // namespace emulator::runner
