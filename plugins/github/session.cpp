#include "github/session.hpp"

#include <functional>
#include <utility>

namespace plugins::github {
namespace {

using rmgr::Error;
using rmgr::Status;

std::string with_id(const std::string& request_id) {
  return request_id.empty() ? "" : " (request id " + request_id + ")";
}

Status status_of(Meaning meaning) {
  switch (meaning) {
    case Meaning::unauthorized: return Status::unauthorized;
    case Meaning::rate_limited: return Status::retry;
    case Meaning::denied: return Status::denied;
    case Meaning::not_found: return Status::not_found;
    case Meaning::conflict: return Status::exists;
    case Meaning::invalid: return Status::invalid;
    default: return Status::bad_response;
  }
}

Status status_of(http::Failure::Kind kind) {
  using Kind = http::Failure::Kind;
  switch (kind) {
    case Kind::cancelled: return Status::cancelled;
    case Kind::deadline: return Status::deadline;
    case Kind::unreachable: return Status::unreachable;
    case Kind::broken:
    case Kind::stalled:
    case Kind::too_large:
    case Kind::refused:
    case Kind::stopped: break;
  }
  return Status::bad_response;
}

constexpr std::string_view kRejected =
    "the token is rejected; check that it is not expired or revoked, and replace it";

}  // namespace

Session::Session(rmgr::Host host, Settings settings)
    : host_(host), settings_(std::move(settings)), client_(settings_.http) {}

Answer Session::learn(const http::Response& response, std::size_t fingerprint) {
  auto answer = judge(response, host_.clock().wall());
  const auto now = host_.clock().boot();
  const std::lock_guard lock(mutex_);
  switch (answer.meaning) {
    case Meaning::rate_limited:
      answer.retry_after = std::min(answer.retry_after, kLongestHold);
      pace_.limited(now, answer.retry_after);
      break;
    case Meaning::unauthorized:
    case Meaning::nonsense: break;
    default: pace_.accepted(fingerprint); break;
  }
  return answer;
}

Session::Authorization::Authorization(Session& session) : session_(session) {
  read();
  const std::lock_guard lock(session_.mutex_);
  const auto wait = session_.pace_.wait(session_.host_.clock().boot(), fingerprint_);
  if (!wait) return;
  if (wait->unauthorized) {
    throw Error(Status::unauthorized, "GitHub is not asked: " + std::string(kRejected) + ".", wait->left);
  }
  throw Error(Status::retry, "GitHub is not asked until the rate limit of this token is over.", wait->left);
}

void Session::Authorization::read() {
  const auto& settings = session_.settings_;
  // A secret that cannot be read says nothing about the target, so its own status would mislead.
  try {
    session_.host_.secrets().with_secret(
        settings.token, [this](rmgr::SecretView value) { token_ = http::Secret(value.reveal()); });
    if (!settings.proxy_credentials.empty()) {
      session_.host_.secrets().with_secret(settings.proxy_credentials, [this](rmgr::SecretView value) {
        session_.client_.set_proxy_credentials(http::Secret(value.reveal()));
      });
    }
  } catch (const Error& error) {
    throw Error(Status::unauthorized, error.what());
  }
  fingerprint_ = std::hash<std::string_view>{}(token_.view());
}

http::Request Session::Authorization::request(http::Method method, std::string url) const {
  http::Request request;
  request.method = method;
  request.url = url.starts_with('/') ? session_.settings_.endpoint.api + url : std::move(url);
  request.headers = {{"Accept", "application/vnd.github+json"}, {"X-GitHub-Api-Version", "2022-11-28"}};
  request.authorization = http::Secret{"Bearer ", token_.view()};
  request.stall_timeout = session_.settings_.stall_timeout;
  return request;
}

void Session::Authorization::rejected(int reading, const std::string& what) {
  if (reading < reading_) return;  // it was read again since
  if (reading_ == 0) {
    read();
    reading_ = 1;
    return;
  }
  const auto now = session_.host_.clock().boot();
  const std::lock_guard lock(session_.mutex_);
  session_.pace_.rejected(now, fingerprint_);
  const auto wait = session_.pace_.wait(now, fingerprint_);
  throw Error(Status::unauthorized, what + " failed: " + std::string(kRejected) + ".",
              wait ? wait->left : Millis{0});
}

std::string Session::Authorization::scrub(std::string text) const {
  if (!token_.empty() && text.find(token_.view()) != std::string::npos) {
    text = "a message that is withheld since it holds the token";
  }
  return text;
}

Session::Sent Session::send(const rmgr::Call& call, http::Method method, const std::string& path,
                            const std::string& body, const std::string& what) {
  Authorization authorization(*this);
  CallCaller caller(call);
  for (;;) {
    const int reading = authorization.reading();
    auto request = authorization.request(method, path);
    if (method == http::Method::post) {
      request.headers.push_back({"Content-Type", "application/json"});
      request.body = body;
    }
    auto outcome = client_.perform(std::move(request), caller);
    if (const auto* failure = std::get_if<http::Failure>(&outcome)) throw failed(*failure, what);
    auto& response = std::get<http::Response>(outcome);
    auto answer = learn(response, authorization.fingerprint());
    answer.message = authorization.scrub(std::move(answer.message));
    if (answer.meaning == Meaning::unauthorized) {
      authorization.rejected(reading, what);
      continue;
    }
    if (answer.meaning == Meaning::rate_limited || answer.meaning == Meaning::nonsense)
      throw failed(answer, what);
    return {std::move(response), std::move(answer)};
  }
}

Error Session::failed(const http::Failure& failure, const std::string& what) const {
  return {status_of(failure.kind),
          what + " failed: " + failure.message + with_id(request_id_of(failure.headers)) + "."};
}

Error Session::failed(const Answer& answer, const std::string& what, std::string_view remedy) const {
  auto text = what + " failed: " + settings_.endpoint.origin.authority() + " answered " +
              std::to_string(answer.status);
  if (answer.meaning == Meaning::rate_limited) text += ", a rate limit";
  if (answer.status >= 300 && answer.status < 400)
    text += ", a redirect, which is not followed; check the URL and the target's name";
  if (!answer.message.empty()) text += ": " + answer.message;
  text += with_id(answer.request_id) + ".";
  if (!remedy.empty()) text += " " + std::string(remedy);
  return {status_of(answer.meaning), text, answer.retry_after};
}

Error Session::nonsense(const http::Response& response, const std::string& what, std::string_view why) const {
  return {Status::bad_response, what + " failed: the answer of " + settings_.endpoint.origin.authority() +
                                    " " + std::string(why) + with_id(request_id_of(response.headers)) + "."};
}

}  // namespace plugins::github
