#include "runner/server_link.hpp"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "wire/text.hpp"

namespace emulator::runner {
namespace {

using nlohmann::json;

constexpr int kCallLimit = 10'000;
constexpr int kPollFor = 20'000;

std::string code_of(const HttpReply& reply) {
  const json body = json::parse(reply.body, nullptr, false);
  return body.is_object() && body.contains("code") && body["code"].is_string()
             ? body["code"].get<std::string>()
             : "";
}

}  // namespace

ServerLink::ServerLink(const std::string& server_url, std::string token, int interrupt_fd)
    : http_(parse_http_url(server_url).value_or(HttpUrl{}).host,
            parse_http_url(server_url).value_or(HttpUrl{}).port),
      usable_(parse_http_url(server_url).has_value()),
      prefix_(parse_http_url(server_url).value_or(HttpUrl{}).path),
      token_(std::move(token)),
      nonce_(random_hex(16)),
      interrupt_fd_(interrupt_fd) {}

HttpReply ServerLink::send(const std::string& method, const std::string& path, std::string body,
                           int timeout_ms, bool interruptible) {
  HttpCall call;
  call.method = method;
  call.target = prefix_ + "/_runner/sessions" + path;
  call.headers = {{"Authorization", "Bearer " + token_}, {"Content-Type", "application/json"}};
  call.body = std::move(body);
  call.timeout = std::chrono::milliseconds(timeout_ms);
  call.interrupt_fd = interruptible ? interrupt_fd_ : -1;
  return http_.call(call);
}

SessionResult ServerLink::open_session(const std::string& version, std::int64_t exec_at_ms) {
  const json body{{"nonce", nonce_}, {"version", version}, {"execAtMs", exec_at_ms}, {"pid", ::getpid()}};
  const HttpReply reply = send("POST", "", body.dump(), kCallLimit, true);
  if (reply.failure == HttpFailure::interrupted) return SessionResult::interrupted;
  if (reply.failure != HttpFailure::none) return SessionResult::try_again;
  if (reply.status == 409) return SessionResult::conflict;
  const std::string code = code_of(reply);
  if (code == "version_deprecated") return SessionResult::deprecated;
  if (code == "registration_used" || code == "registration_removed" || code == "credential_unknown") {
    return SessionResult::refused;
  }
  const json answer = json::parse(reply.body, nullptr, false);
  if (reply.status != 200 || !answer.is_object() || !answer.contains("sessionId"))
    return SessionResult::try_again;
  session_ = answer["sessionId"].get<std::string>();
  renew_every_ms_ = std::clamp(answer.value("renewEveryMs", 1'000), 20, 10'000);
  return SessionResult::opened;
}

PollResult ServerLink::poll(std::string& job_json) {
  const HttpReply reply = send("GET", "/" + session_ + "/message?wait_ms=" + std::to_string(kPollFor), "",
                               kPollFor + kCallLimit, true);
  if (reply.failure == HttpFailure::interrupted) return PollResult::interrupted;
  if (reply.failure != HttpFailure::none) return PollResult::try_again;
  if (reply.status == 204) return PollResult::nothing;
  const std::string code = code_of(reply);
  if (code == "registration_removed" || code == "session_unknown") return PollResult::lost;
  const json answer = json::parse(reply.body, nullptr, false);
  if (reply.status != 200 || !answer.is_object()) return PollResult::try_again;
  const std::string type = answer.value("type", "");
  if (type == "update") return PollResult::update;
  if (type != "job" || !answer.contains("job")) return PollResult::try_again;
  job_json = answer["job"].dump();
  return PollResult::job;
}

std::optional<bool> ServerLink::accept(std::int64_t job) {
  const HttpReply reply =
      send("POST", "/" + session_ + "/jobs/" + std::to_string(job) + "/accept", "{}", kCallLimit, false);
  if (reply.ok()) return true;
  if (reply.failure == HttpFailure::none && (reply.status == 409 || reply.status == 404)) return false;
  return std::nullopt;
}

bool ServerLink::renew(std::int64_t job) {
  const HttpReply reply =
      send("POST", "/" + session_ + "/jobs/" + std::to_string(job) + "/renew", "{}", kCallLimit, false);
  const json answer = json::parse(reply.body, nullptr, false);
  return reply.ok() && answer.is_object() && answer.value("cancel", false);
}

bool ServerLink::complete(std::int64_t job, const std::string& result, int exit_code) {
  const json body{{"result", result}, {"exitCode", exit_code}};
  const HttpReply reply = send("POST", "/" + session_ + "/jobs/" + std::to_string(job) + "/complete",
                               body.dump(), kCallLimit, false);
  return reply.failure == HttpFailure::none && reply.status < 500;
}

void ServerLink::close_session() {
  if (!session_.empty()) send("DELETE", "/" + session_, "", 2'000, false);
}

}  // namespace emulator::runner
