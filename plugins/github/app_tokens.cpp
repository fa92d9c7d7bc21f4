#include "github/app_tokens.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "github/jwt.hpp"
#include "github/parse.hpp"

namespace plugins::github {
namespace {

using rmgr::Error;
using rmgr::Status;

constexpr Millis kRenewBefore{5 * 60 * 1000};
constexpr Millis kLastUse{60'000};
constexpr auto kLook = std::chrono::milliseconds(100);
const std::string kAppLine = "/app";  // no owner has that name

std::string owner_of(std::string_view target) {
  std::string owner(target.substr(0, target.find('/')));
  std::transform(owner.begin(), owner.end(), owner.begin(), &lower);
  return owner;
}

// An App may be installed for some of an owner's repositories: a look-up that finds nothing speaks of its own
// target alone. No owner's name begins so.
std::string line_of_look_up(std::string_view target) {
  std::string line = "/of/" + std::string(target);
  std::transform(line.begin(), line.end(), line.begin(), &lower);
  return line;
}

}  // namespace

Loan AppTokens::loan_of(const Token& token, const std::string& owner) {
  return {token.text.copy(), token.fingerprint, owner};
}

Loan AppTokens::get(const rmgr::Call& call, std::string_view target) {
  (void)target_path(target);
  const auto owner = owner_of(target);
  std::unique_lock lock(mutex_);
  Installation& installation = installations_[owner];
  for (;;) {
    const auto& token = installation.token;
    if (token && wire_.host().clock().boot() < token->renew_at) {
      auto loan = loan_of(*token, owner);
      lock.unlock();
      wire_.paces().expect_free(owner, loan.fingerprint);
      return loan;
    }
    if (!installation.making) break;
    await(lock, installation, call);
  }
  installation.making = true;
  const auto known = installation.id;
  lock.unlock();
  std::optional<Made> made;
  std::optional<Error> failure;
  auto phase = Phase::looking_up;
  try {
    made = make(call, std::string(target), owner, known, phase);
  } catch (const Error& error) {
    failure = error;
  } catch (const std::exception& error) {
    failure = Error(Status::internal, error.what());
  }
  lock.lock();
  installation.making = false;
  ++installation.made;
  installation.failure.reset();
  changed_.notify_all();
  if (made) {
    installation.id = made->id;
    installation.token = std::move(made->token);
    return loan_of(*installation.token, owner);
  }
  if (failure->status() == Status::cancelled || failure->status() == Status::deadline) throw Error(*failure);
  // What is there is good for a while: a token is renewed well before its end.
  auto& old = installation.token;
  const auto now = wire_.host().clock().boot();
  if (old && now + kLastUse < old->expires_at) {
    old->renew_at = now + kLastUse;
    wire_.host().log().warning("The App's token for " + owner +
                               " could not be renewed and is used up: " + failure->what());
    return loan_of(*old, owner);
  }
  // That one caller gave up, or that its target was not found, says nothing to those who wait.
  if (phase == Phase::minting) installation.failure = failure;
  throw Error(*failure);
}

void AppTokens::await(std::unique_lock<std::mutex>& lock, const Installation& installation,
                      const rmgr::Call& call) {
  const auto before = installation.made;
  while (installation.making && installation.made == before) {
    call.check();
    changed_.wait_for(lock, kLook);
  }
  if (installation.made == before + 1 && installation.failure) throw Error(*installation.failure);
}

void AppTokens::accepted(const Loan& loan, const http::Response& /*response*/) {
  wire_.paces().accepted(loan.line, loan.fingerprint);
}

void AppTokens::drop(const Loan& loan) {
  const std::lock_guard lock(mutex_);
  auto& token = installations_[loan.line].token;
  if (token && token->text.view() == loan.token.view()) token.reset();
}

AppTokens::Made AppTokens::make(const rmgr::Call& call, const std::string& target, const std::string& owner,
                                std::int64_t known, Phase& phase) {
  const auto& configured = wire_.settings().app->installation_id;
  const bool remembered = known != 0 && !configured;
  Made made;
  made.id = configured ? *configured : remembered ? known : look_up(call, target);
  const auto what = "Asking for the App's token for " + owner;
  phase = Phase::minting;
  const auto path = [&made] { return "/app/installations/" + std::to_string(made.id) + "/access_tokens"; };
  auto told = ask(call, http::Method::post, path(), owner, what);
  if (told.answer.meaning == Meaning::not_found && remembered) {
    // It was installed anew meanwhile, perhaps.
    phase = Phase::looking_up;
    made.id = look_up(call, target);
    phase = Phase::minting;
    told = ask(call, http::Method::post, path(), owner, what);
  }
  if (told.answer.meaning == Meaning::not_found) reject(CredentialState::not_installed, owner, told, what);
  if (told.answer.meaning == Meaning::denied && mentions(told.answer.message, "suspended"))
    reject(CredentialState::suspended, owner, told, what);
  if (told.answer.meaning != Meaning::success && told.answer.meaning != Meaning::not_modified)
    throw wire_.failed(told.answer, what);
  if (told.response.status != 201 || !is_json(told.response))
    throw wire_.nonsense(told.response, what, "is not a token");
  auto granted = parse_access_token(told.response.body);
  rmgr::wipe(told.response.body.data(), told.response.body.size());
  const auto end = granted ? parse_instant(granted->expires_at) : std::nullopt;
  if (!end) throw wire_.nonsense(told.response, what, "is not a token with its end");
  const Millis lifetime = Millis{*end * 1000} - wire_.clock().now();
  if (lifetime <= Millis{0}) throw wire_.nonsense(told.response, what, "is a token that is over already");
  made.token.text = http::Secret(granted->token.view().reveal());
  made.token.fingerprint = told.fingerprint;
  made.token.expires_at = told.sent_at + lifetime;
  made.token.renew_at = made.token.expires_at - std::min(kRenewBefore, lifetime / 4);
  return made;
}

std::int64_t AppTokens::look_up(const rmgr::Call& call, const std::string& target) {
  const auto what = "Looking up the App's installation for " + target;
  const auto line = line_of_look_up(target);
  const auto told = ask(call, http::Method::get, target_path(target).path + "/installation", line, what);
  if (told.answer.meaning == Meaning::not_found) reject(CredentialState::not_installed, line, told, what);
  if (told.answer.meaning != Meaning::success) throw wire_.failed(told.answer, what);
  const auto found = is_json(told.response) ? parse_installation(told.response.body) : std::nullopt;
  if (!found) throw wire_.nonsense(told.response, what, "is not an installation");
  if (found->suspended) reject(CredentialState::suspended, line, told, what);
  wire_.paces().accepted(line, told.fingerprint);
  return found->id;
}

AppTokens::Told AppTokens::ask(const rmgr::Call& call, http::Method method, const std::string& path,
                               const std::string& line, const std::string& what) {
  const AppSettings& app = *wire_.settings().app;
  CallCaller caller(call);
  for (bool again = false;; again = true) {
    Told told;
    http::Secret proof;
    std::optional<Error> unusable;
    // Paces are asked before the key is used, and with the key's own mark, so that another key is free at
    // once.
    try {
      wire_.host().secrets().with_secret(app.private_key, [&](rmgr::SecretView value) {
        told.fingerprint = std::hash<std::string_view>{}(value.reveal());
        try {
          wire_.paces().expect_free(kAppLine, told.fingerprint);
          wire_.paces().expect_free(line, told.fingerprint);
        } catch (const Error& error) {
          unusable = error;
          return;
        }
        try {
          proof = SigningKey(value.reveal()).sign(claims_at(app.issuer, wire_.clock().now().count() / 1000));
        } catch (const Error& error) {
          unusable = credential_error(CredentialState::unusable, CredentialKind::app, error.what());
        }
      });
    } catch (const Error& error) {
      throw credential_error(CredentialState::unreadable, CredentialKind::app, error.what());
    }
    if (unusable) throw Error(*unusable);
    auto request = wire_.request(method, path, proof, "{}");
    told.sent_at = wire_.host().clock().boot();
    auto outcome = wire_.client().perform(std::move(request), caller);
    if (const auto* failure = std::get_if<http::Failure>(&outcome)) throw Wire::failed(*failure, what);
    told.response = std::move(std::get<http::Response>(outcome));
    told.answer = wire_.judge(told.response, kAppLine);
    if (told.answer.message.find(proof.view()) != std::string::npos) told.answer.message.clear();
    switch (told.answer.meaning) {
      case Meaning::unauthorized:
        if (!again) continue;
        reject(CredentialState::rejected, kAppLine, told, what);
      case Meaning::not_found:
        // So GitHub says that there is no such App.
        if (mentions(told.answer.message, "integration"))
          reject(CredentialState::rejected, kAppLine, told, what);
        break;
      case Meaning::rate_limited:
      case Meaning::nonsense: throw wire_.failed(told.answer, what);
      default: break;
    }
    wire_.paces().accepted(kAppLine, told.fingerprint);
    return told;
  }
}

void AppTokens::reject(CredentialState state, const std::string& line, const Told& told,
                       const std::string& what) {
  const auto wait = wire_.paces().rejected(line, told.fingerprint, state);
  const auto detail = told.answer.meaning == Meaning::success ? what + " found it suspended."
                                                              : wire_.failed(told.answer, what).what();
  throw credential_error(state, CredentialKind::app, detail, wait);
}

}  // namespace plugins::github
