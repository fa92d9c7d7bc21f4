// Structured logs with closed vocabularies. Library code returns errors; the one caller that decides logs.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace agent::observe {

enum class Level { debug, info, warning, error };
std::string_view to_string(Level level);
std::optional<Level> parse_level(std::string_view text);  // nothing for any other word

// Every event that the code can emit. The word printed is the enumerator's name.
enum class Event {
  daemon_started,
  daemon_stopping,
  daemon_stopped,
  configuration_refused,
  configuration_reloaded,
  plugin_loaded,
  plugin_message,
  instance_ready,
  instance_refused,
  lane_stuck,
  attempt_granted,
  attempt_claimed,
  attempt_state_changed,
  attempt_concluded,
  attempt_cleaned,
  attempt_resumed,
  attempt_forgotten,
  effect_failed,
  cleanup_deferred,
  deregistration_deferred,
  deregistration_dropped,
  residue_found,
  launch_timing,
  policy_held,
  policy_released,
  pass_failed,
  pass_finished,
  job_refused,
  journal_failed,
  reserve_released,
  reserve_restored,
  package_installed,
  package_pruned,
  control_refused,
};
std::string_view to_string(Event event);

// Every field that may be printed; a field that is not here cannot be written.
enum class Field {
  attempt,
  policy,
  target,
  instance,
  plugin,
  version,
  state,
  previous_state,
  outcome,
  reason,
  effect,
  error_code,
  message,
  tries,
  wait_ms,
  duration_ms,
  package_ms,
  copy_ms,
  prepare_ms,
  register_ms,
  spawn_ms,
  order_ms,
  queued,
  active,
  started,
  limited_by,
  job,
  exit_code,
  count,
  digest,
  out_of_memory,
  removed,
};
std::string_view to_string(Field field);

using Value = std::variant<std::int64_t, bool, std::string>;
using Fields = std::initializer_list<std::pair<Field, Value>>;

// Thread-safe. Values are scrubbed and control characters escaped before anything is written.
class Log {
 public:
  virtual ~Log() = default;
  virtual void write(Level level, Event event, Fields fields) = 0;
};

// Replaces what looks like a secret (token prefixes, JWTs, Authorization schemes, URL userinfo and query, PEM
// blocks, long opaque runs) by "[redacted]" and escapes control characters and invalid UTF-8. Our own ids
// survive.
//
// Line breaks become the two characters \n and so on; idempotent; time linear in the text. The answer is
// valid UTF-8 and safe for a terminal.
std::string scrub(std::string_view text);

// True for what must never stand in a configuration file: known token prefixes, JWTs, PEM blocks, an
// Authorization header's value, a password in a URL. Says nothing about long opaque text.
bool holds_secret(std::string_view text);

}  // namespace agent::observe
