#include "github/wire.hpp"

#include <algorithm>
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

}  // namespace

Wire::Wire(rmgr::Host host, Settings settings)
    : host_(host),
      settings_(std::move(settings)),
      client_(settings_.http),
      paces_(host, settings_.app ? CredentialKind::app : CredentialKind::token),
      clock_(host) {}

http::Request Wire::request(http::Method method, std::string url, const http::Secret& token,
                            const std::string& body) const {
  http::Request request;
  request.method = method;
  request.url = url.starts_with('/') ? settings_.endpoint.api + url : std::move(url);
  request.headers = {{"Accept", "application/vnd.github+json"}, {"X-GitHub-Api-Version", "2022-11-28"}};
  request.authorization = http::Secret{"Bearer ", token.view()};
  request.stall_timeout = settings_.stall_timeout;
  if (method == http::Method::post) {
    request.headers.push_back({"Content-Type", "application/json"});
    request.body = body;
  }
  return request;
}

Answer Wire::judge(const http::Response& response, const std::string& line) {
  auto answer = github::judge(response, host_.clock().wall());
  if (answer.meaning != Meaning::nonsense) clock_.learn(response);
  if (answer.meaning == Meaning::rate_limited) {
    answer.retry_after = std::min(answer.retry_after, kLongestHold);
    paces_.limited(line, answer.retry_after);
  }
  return answer;
}

Error Wire::failed(const http::Failure& failure, const std::string& what) {
  return {status_of(failure.kind),
          what + " failed: " + failure.message + with_id(request_id_of(failure.headers)) + "."};
}

Error Wire::failed(const Answer& answer, const std::string& what, std::string_view remedy) const {
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

Error Wire::nonsense(const http::Response& response, const std::string& what, std::string_view why) const {
  return {Status::bad_response, what + " failed: the answer of " + settings_.endpoint.origin.authority() +
                                    " " + std::string(why) + with_id(request_id_of(response.headers)) + "."};
}

}  // namespace plugins::github
