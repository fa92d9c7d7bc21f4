// What an engine that says no means.
#pragma once

#include <string>
#include <string_view>

#include "rmgr/error.hpp"
#include "support/engine/exchange.hpp"

namespace plugins::engine {

// The engine answered and refused. `reason` is its own sentence, bounded and without control characters,
// credentials of URLs and queries.
class Refused : public rmgr::Error {
 public:
  Refused(rmgr::Status status, unsigned http, std::string reason, const std::string& message)
      : rmgr::Error(status, message), http_(http), reason_(std::move(reason)) {}
  [[nodiscard]] unsigned http() const noexcept { return http_; }
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

 private:
  unsigned http_;
  std::string reason_;
};

// `what`: as in "refused to create a container".
Refused refused(const std::string& what, const Response& answer);

// A failed pull, which engines report with many codes or in the middle of a success, so that its words have
// to tell: unauthorized, not_found, unsupported (no such platform), unreachable or retry.
Refused pull_refused(const std::string& image, unsigned http, std::string_view reason);

// At most 300 bytes of an engine's sentence, fit to be shown.
std::string presentable(std::string_view text);

}  // namespace plugins::engine
