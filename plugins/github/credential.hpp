// What is wrong with a credential, in a closed set of words, and when it may be used again.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "github/pace.hpp"
#include "rmgr/call.hpp"
#include "rmgr/error.hpp"
#include "rmgr/host.hpp"
#include "support/http/message.hpp"

namespace plugins::github {

enum class CredentialKind { token, app };

std::string_view to_string(CredentialState state);
// One sentence: what an operator does about it.
std::string_view remedy(CredentialState state, CredentialKind kind);
// `unauthorized`, with a text that begins with "Credential WORD: " so that the host can show the word.
// `detail` ends its sentence.
rmgr::Error credential_error(CredentialState state, CredentialKind kind, const std::string& detail,
                             Millis retry_after = Millis{0});

// The paces of an instance, by line: what is limited or rejected together. Thread-safe.
class Paces {
 public:
  Paces(rmgr::Host host, CredentialKind kind) : host_(host), kind_(kind) {}

  // Throws `retry` or `unauthorized` with the time that is left while the server must not be asked.
  void expect_free(const std::string& line, std::size_t fingerprint);
  void limited(const std::string& line, Millis duration);
  // How long it is left alone from now on.
  Millis rejected(const std::string& line, std::size_t fingerprint, CredentialState state);
  void accepted(const std::string& line, std::size_t fingerprint);
  [[nodiscard]] CredentialKind kind() const { return kind_; }

 private:
  rmgr::Host host_;
  CredentialKind kind_;
  std::mutex mutex_;
  std::map<std::string, Pace> lines_;
};

// What an operation shows to the server.
struct Loan {
  http::Secret token;
  std::size_t fingerprint = 0;  // of the configured secret behind it: a rotated one is free at once
  std::string line;             // of its pace
};

// Where tokens come from. Thread-safe.
class Credential {
 public:
  virtual ~Credential() = default;
  // A token for requests about that target; asks the pace first. Throws rmgr::Error.
  virtual Loan get(const rmgr::Call& call, std::string_view target) = 0;
  // The server took the token, and this is what it answered.
  virtual void accepted(const Loan& loan, const http::Response& response) = 0;
  // The server rejected the token, so that the next one must be another or be read anew.
  virtual void drop(const Loan& loan) = 0;
  // What it means that the server rejected the token twice.
  virtual CredentialState verdict(const Loan& loan) = 0;
};

}  // namespace plugins::github
