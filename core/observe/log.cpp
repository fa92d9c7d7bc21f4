#include "observe/log.hpp"

namespace agent::observe {

std::string_view to_string(Event event) {
  switch (event) {
    case Event::daemon_started: return "daemon_started";
    case Event::daemon_stopping: return "daemon_stopping";
    case Event::daemon_stopped: return "daemon_stopped";
    case Event::configuration_refused: return "configuration_refused";
    case Event::configuration_reloaded: return "configuration_reloaded";
    case Event::plugin_loaded: return "plugin_loaded";
    case Event::plugin_message: return "plugin_message";
    case Event::instance_ready: return "instance_ready";
    case Event::instance_refused: return "instance_refused";
    case Event::lane_stuck: return "lane_stuck";
    case Event::attempt_granted: return "attempt_granted";
    case Event::attempt_claimed: return "attempt_claimed";
    case Event::attempt_state_changed: return "attempt_state_changed";
    case Event::attempt_concluded: return "attempt_concluded";
    case Event::attempt_cleaned: return "attempt_cleaned";
    case Event::attempt_resumed: return "attempt_resumed";
    case Event::attempt_forgotten: return "attempt_forgotten";
    case Event::effect_failed: return "effect_failed";
    case Event::cleanup_deferred: return "cleanup_deferred";
    case Event::deregistration_deferred: return "deregistration_deferred";
    case Event::deregistration_dropped: return "deregistration_dropped";
    case Event::residue_found: return "residue_found";
    case Event::launch_timing: return "launch_timing";
    case Event::policy_held: return "policy_held";
    case Event::policy_released: return "policy_released";
    case Event::pass_failed: return "pass_failed";
    case Event::pass_finished: return "pass_finished";
    case Event::job_refused: return "job_refused";
    case Event::journal_failed: return "journal_failed";
    case Event::reserve_released: return "reserve_released";
    case Event::reserve_restored: return "reserve_restored";
    case Event::package_installed: return "package_installed";
    case Event::package_pruned: return "package_pruned";
    case Event::control_refused: return "control_refused";
  }
  return "";
}

std::string_view to_string(Field field) {
  switch (field) {
    case Field::attempt: return "attempt";
    case Field::policy: return "policy";
    case Field::target: return "target";
    case Field::instance: return "instance";
    case Field::plugin: return "plugin";
    case Field::version: return "version";
    case Field::state: return "state";
    case Field::previous_state: return "previous_state";
    case Field::outcome: return "outcome";
    case Field::reason: return "reason";
    case Field::effect: return "effect";
    case Field::error_code: return "error_code";
    case Field::message: return "message";
    case Field::tries: return "tries";
    case Field::wait_ms: return "wait_ms";
    case Field::duration_ms: return "duration_ms";
    case Field::package_ms: return "package_ms";
    case Field::copy_ms: return "copy_ms";
    case Field::prepare_ms: return "prepare_ms";
    case Field::register_ms: return "register_ms";
    case Field::spawn_ms: return "spawn_ms";
    case Field::order_ms: return "order_ms";
    case Field::queued: return "queued";
    case Field::active: return "active";
    case Field::started: return "started";
    case Field::limited_by: return "limited_by";
    case Field::job: return "job";
    case Field::exit_code: return "exit_code";
    case Field::count: return "count";
    case Field::digest: return "digest";
    case Field::out_of_memory: return "out_of_memory";
    case Field::removed: return "removed";
  }
  return "";
}

std::string_view to_string(Level level) {
  switch (level) {
    case Level::debug: return "debug";
    case Level::info: return "info";
    case Level::warning: return "warning";
    case Level::error: return "error";
  }
  return "";
}

std::optional<Level> parse_level(std::string_view text) {
  for (const Level level : {Level::debug, Level::info, Level::warning, Level::error}) {
    if (to_string(level) == text) return level;
  }
  return std::nullopt;
}

}  // namespace agent::observe
