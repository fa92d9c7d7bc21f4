#include "github/session.hpp"

#include <optional>
#include <utility>

#include "github/app_tokens.hpp"
#include "github/fixed_token.hpp"

namespace plugins::github {
namespace {

std::unique_ptr<Credential> credential_of(Wire& wire) {
  if (wire.settings().app) return std::make_unique<AppTokens>(wire);
  return std::make_unique<FixedToken>(wire);
}

}  // namespace

Session::Session(rmgr::Host host, Settings settings)
    : Wire(host, std::move(settings)), credential_(credential_of(*this)) {}

Session::Authorization::Authorization(Session& session, const rmgr::Call& call, std::string_view target)
    : session_(session), call_(call), target_(target) {
  renew();
}

void Session::Authorization::renew() {
  const auto& reference = session_.settings().proxy_credentials;
  if (!reference.empty()) {
    try {
      session_.host().secrets().with_secret(reference, [this](rmgr::SecretView value) {
        session_.client().set_proxy_credentials(http::Secret(value.reveal()));
      });
    } catch (const rmgr::Error& error) {
      // It says nothing about the target, so its own status would mislead.
      throw rmgr::Error(rmgr::Status::unauthorized,
                        "Credential unreadable: of the proxy, not of GitHub. " + std::string(error.what()));
    }
  }
  loan_ = session_.credential_->get(call_, target_);
}

http::Request Session::Authorization::request(http::Method method, std::string url,
                                              const std::string& body) const {
  return session_.request(method, std::move(url), loan_.token, body);
}

std::optional<Answer> Session::Authorization::judge(const http::Response& response, int reading,
                                                    const std::string& what) {
  auto answer = session_.Wire::judge(response, loan_.line);
  if (!loan_.token.empty() && answer.message.find(loan_.token.view()) != std::string::npos)
    answer.message = "a message that is withheld since it holds the token";
  switch (answer.meaning) {
    case Meaning::unauthorized:
      if (reading < reading_) return std::nullopt;  // it was renewed since
      session_.credential_->drop(loan_);
      if (reading_ > 0) rejected(session_.credential_->verdict(loan_), answer, what);
      renew();
      reading_ = 1;
      return std::nullopt;
    case Meaning::denied:
      if (session_.settings().app && mentions(answer.message, "suspended")) {
        session_.credential_->drop(loan_);
        rejected(CredentialState::suspended, answer, what);
      }
      session_.credential_->accepted(loan_, response);
      break;
    case Meaning::rate_limited:
    case Meaning::nonsense: break;
    default: session_.credential_->accepted(loan_, response); break;
  }
  return answer;
}

void Session::Authorization::rejected(CredentialState state, const Answer& answer, const std::string& what) {
  const auto wait = session_.paces().rejected(loan_.line, loan_.fingerprint, state);
  throw credential_error(state, session_.paces().kind(), session_.failed(answer, what).what(), wait);
}

Session::Sent Session::send(const rmgr::Call& call, std::string_view target, http::Method method,
                            const std::string& path, const std::string& body, const std::string& what) {
  Authorization authorization(*this, call, target);
  CallCaller caller(call);
  for (;;) {
    const int reading = authorization.reading();
    auto request = authorization.request(method, path, body);
    auto outcome = client().perform(std::move(request), caller);
    if (const auto* failure = std::get_if<http::Failure>(&outcome)) throw failed(*failure, what);
    auto& response = std::get<http::Response>(outcome);
    auto answer = authorization.judge(response, reading, what);
    if (!answer) continue;
    if (answer->meaning == Meaning::rate_limited || answer->meaning == Meaning::nonsense)
      throw failed(*answer, what);
    return {std::move(response), std::move(*answer)};
  }
}

}  // namespace plugins::github
