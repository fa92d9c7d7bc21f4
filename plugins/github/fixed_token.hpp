// A token that somebody made: a personal access token.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "github/wire.hpp"

namespace plugins::github {

class FixedToken final : public Credential {
 public:
  explicit FixedToken(Wire& wire) : wire_(wire) {}
  Loan get(const rmgr::Call& call, std::string_view target) override;
  void accepted(const Loan& loan, const http::Response& response) override;
  void drop(const Loan& /*loan*/) override {}  // it is read anew each time
  CredentialState verdict(const Loan& loan) override;

 private:
  Wire& wire_;
  std::mutex mutex_;
  std::size_t of_ = 0;                      // the token that the end below belongs to
  std::optional<std::int64_t> expires_at_;  // seconds since 1970, as the server told
};

}  // namespace plugins::github
