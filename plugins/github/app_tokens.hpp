// The tokens of an App: one for each owner that installed it, made when they are needed.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "github/wire.hpp"

namespace plugins::github {

// Callers that need the same token at once share one request for it. Nothing is locked during a request.
class AppTokens final : public Credential {
 public:
  explicit AppTokens(Wire& wire) : wire_(wire) {}
  Loan get(const rmgr::Call& call, std::string_view target) override;
  void accepted(const Loan& loan, const http::Response& response) override;
  void drop(const Loan& loan) override;
  CredentialState verdict(const Loan& /*loan*/) override { return CredentialState::rejected; }

 private:
  struct Token {
    http::Secret text;
    std::size_t fingerprint = 0;        // of the key that it was made with
    Millis renew_at{0}, expires_at{0};  // by the clock since boot
  };
  struct Installation {
    std::int64_t id = 0;  // 0: not looked up yet
    std::optional<Token> token;
    bool making = false;
    std::uint64_t made = 0;              // how many requests for a token have ended
    std::optional<rmgr::Error> failure;  // of the last one, if it is everybody's
  };
  enum class Phase { looking_up, minting };
  struct Made {
    std::int64_t id = 0;
    Token token;
  };
  struct Told {
    http::Response response;
    Answer answer;
    std::size_t fingerprint = 0;
    Millis sent_at{0};  // by the clock since boot
  };
  [[nodiscard]] static Loan loan_of(const Token& token, const std::string& owner);
  void await(std::unique_lock<std::mutex>& lock, const Installation& installation, const rmgr::Call& call);
  Made make(const rmgr::Call& call, const std::string& target, const std::string& owner, std::int64_t known,
            Phase& phase);
  std::int64_t look_up(const rmgr::Call& call, const std::string& target);
  // One request as the App itself, tried once more after a 401 with the clock that the server told.
  Told ask(const rmgr::Call& call, http::Method method, const std::string& path, const std::string& line,
           const std::string& what);
  [[noreturn]] void reject(CredentialState state, const std::string& line, const Told& told,
                           const std::string& what);

  Wire& wire_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Installation> installations_;  // by owner in lower case; never erased
};

}  // namespace plugins::github
