// Scripted misbehaviour. A fault says which requests (or which assignments) it meets, how often, and what
// goes wrong.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/exchange.hpp"

namespace emulator {

enum class FaultAction {
  delay,               // only late
  status,              // this status with this body
  html,                // an HTML page with this status (200 unless told)
  empty,               // this status (200 unless told) with an empty body
  truncate,            // well-formed HTTP whose JSON ends in the middle
  cut,                 // the connection breaks in the middle of the body
  bom,                 // a byte-order mark before the JSON
  slow,                // the body trickles for `for_ms`
  drop,                // the connection closes without an answer and without an effect
  execute_then_drop,   // the effect happens, the answer is lost
  rate_limit,          // primary limit: 403, nothing remaining
  secondary_limit,     // 403 with Retry-After
  stale,               // listings as they were `as_of_ms` ago
  session_conflict,    // a listener's session is refused as held by another one
  version_deprecated,  // a listener's session is refused because of its version
  update,              // a waiting listener is told to update itself
  withhold,            // jobs of `target` are not handed out
  withdraw,  // an assignment shows on paper for `for_ms`, never reaches the runner, and is taken back
};
std::optional<FaultAction> fault_action(std::string_view name);
std::string_view to_string(FaultAction action);

struct Fault {
  std::int64_t id = 0;
  FaultAction action = FaultAction::delay;
  std::string method = "*";
  std::string path = "*";    // glob over the path without /api/v3 and query
  std::string query = "*";   // glob over the raw query
  std::string target = "*";  // glob over the job's repository, for withhold and withdraw
  int skip = 0;              // how many matches pass unharmed first
  int count = 1;             // how many are harmed; negative: all
  std::int64_t delay_ms = 0;
  int status = 0;
  std::string body;
  std::string content_type;
  int retry_after = -1;  // seconds
  std::vector<std::pair<std::string, std::string>> headers;
  std::optional<bool> execute;  // whether the request has its effect; the action's own way if not told
  std::int64_t as_of_ms = 0;
  std::int64_t for_ms = 0;
  std::int64_t created_at = 0;
  int hits = 0;
};

// Whether the request has its effect under this fault.
bool executes(const Fault& fault);

// The answer under this fault; `answer` is the ordinary one, absent if the request had no effect.
Response spoil(const Fault& fault, const std::optional<Response>& answer, std::int64_t now_ms);

class Faults {
 public:
  std::int64_t add(Fault fault);
  bool remove(std::int64_t id);
  void clear() { faults_.clear(); }
  [[nodiscard]] const std::deque<Fault>& all() const { return faults_; }

  // The fault that this request meets, counted; nothing if none.
  std::optional<Fault> meet(const Request& request);
  // Whether jobs of this repository are withheld now.
  [[nodiscard]] bool withheld(std::string_view repository, std::int64_t now_ms) const;
  // The fault that this assignment meets, counted.
  std::optional<Fault> meet_assignment(std::string_view repository);

 private:
  std::deque<Fault> faults_;
  std::int64_t next_id_ = 1;
};

}  // namespace emulator
