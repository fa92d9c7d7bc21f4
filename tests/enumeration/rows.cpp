#include "enumeration/rows.hpp"

#include "domain/state.hpp"

namespace enumeration {

namespace {

constexpr std::int64_t kWall = 1'700'000'000'000;
constexpr std::int64_t kBoot = 5'000'000;
const Instant kRequested{kWall - 5'000, kBoot - 5'000, BootId{"boot"}};

std::int64_t timeout_of(State state) {
  switch (state) {
    case State::starting: return kStartup;
    case State::idle: return kIdle;
    case State::busy: return kJob;
    default: return kHandoff;
  }
}

bool was_registered(State state) {
  return state != State::allocated && state != State::preparing && state != State::prepared;
}

}  // namespace

Instant at(std::int64_t ms) { return {kWall + ms, kBoot + ms, BootId{"boot"}}; }

bool exists_for(ProviderKind kind, State state) {
  return kind == ProviderKind::isolated || (state != State::preparing && state != State::prepared &&
                                            state != State::destroying && state != State::cleanup_deferred);
}

std::vector<std::int64_t> moments_of(State state) {
  const std::int64_t own = timeout_of(state);
  return {0, own - 1, own, kLong};
}

Attempt row(ProviderKind kind, State state, Fact fact) {
  Attempt made;
  made.id = AttemptId{"a"};
  made.generation = Generation{"g"};
  made.policy.name = PolicyName{"p"};
  made.policy.provider_kind = kind;
  made.policy.timeouts.jit_handoff = Millis{kHandoff};
  made.policy.timeouts.startup = Millis{kStartup};
  made.policy.timeouts.idle = Millis{kIdle};
  made.policy.timeouts.job = Millis{fact == Fact::no_job_timeout ? 0 : kJob};
  made.runtime = "/r/a";
  made.state = state;
  made.changed_at = at(0);
  made.package = PackageDigest{"d"};
  made.next_seq = 8;
  if (kind == ProviderKind::isolated) made.environment = EnvironmentId{"e"};
  if (was_registered(state)) {
    made.jit_requests = 1;
    made.jit_requested_at = kRequested;
    if (fact != Fact::runner_seen_first && fact != Fact::runner_unknown && fact != Fact::unanswered)
      made.runner = RunnerId{41};
  }
  if (fact == Fact::unanswered) {
    made.jit_requests = 1;
    made.jit_requested_at = kRequested;
    made.unanswered_at = kRequested;
  }
  made.environment_removed = state == State::cleaned;
  made.clean_exit = fact == Fact::clean_exit_known;
  if (is_concluded(state)) {
    made.outcome = Outcome{.kind = OutcomeKind::failed, .reason = FailureReason::job_timed_out};
    if (state == State::finished) made.outcome = Outcome{.kind = OutcomeKind::completed_job, .reason = {}};
    if (state == State::orphaned) made.outcome = Outcome{.kind = OutcomeKind::orphaned, .reason = {}};
    made.deregistration_owed = made.jit_requested_at.has_value();
  }
  return made;
}

void set_pending(Attempt& attempt, std::optional<EffectKind> kind) {
  attempt.pending.reset();
  if (kind) attempt.pending = Pending{.kind = *kind, .seq = 7, .issued_at = at(0)};
}

Observation observation(Fact fact, EnvironmentView environment, bool clean, GithubView github,
                        Evidence evidence) {
  Observation seen;
  seen.environment = environment;
  seen.clean = clean;
  if (environment == EnvironmentView::exited) seen.exit_code = clean ? 0 : 1;
  if (environment == EnvironmentView::exited && fact == Fact::version_rejected) {
    seen.clean = false;
    seen.exit_code = 7;
  }
  seen.github = github;
  const bool listed = github != GithubView::unreachable && github != GithubView::absent;
  if (listed && fact != Fact::runner_unknown) seen.listed_runner = RunnerId{41};
  seen.evidence = evidence;
  seen.surplus_allowed = fact != Fact::at_the_minimum;
  return seen;
}

std::vector<std::optional<Termination>> intents() {
  std::vector<std::optional<Termination>> all{std::nullopt};
  for (const TerminationKind kind : kIntents) {
    const bool hard = kind == TerminationKind::job_timeout || kind == TerminationKind::by_operator;
    if (!hard) all.push_back(Termination{kind, TerminationStep::deregister});
    all.push_back(Termination{kind, TerminationStep::stop});
  }
  return all;
}

std::string describe(const Attempt& attempt) {
  std::string text{to_string(attempt.policy.provider_kind)};
  text += " " + std::string{to_string(attempt.state)};
  if (attempt.outcome) text += " as " + std::string{to_string(attempt.outcome->kind)};
  if (attempt.outcome && attempt.outcome->reason)
    text += " (" + std::string{to_string(*attempt.outcome->reason)} + ")";
  text += ", intent ";
  text += attempt.termination ? std::string{to_string(attempt.termination->kind)} + "/" +
                                    std::string{to_string(attempt.termination->step)}
                              : std::string{"none"};
  text += ", pending " + std::string{attempt.pending ? to_string(attempt.pending->kind) : "none"};
  const auto flag = [&text](bool is, const char* word) { text += is ? std::string{", "} + word : ""; };
  flag(attempt.runner.has_value(), "runner known");
  flag(attempt.process.has_value(), "process known");
  flag(attempt.clean_exit, "clean exit known");
  flag(attempt.jit_requested_at.has_value(), "registration requested");
  flag(attempt.unanswered_at.has_value(), "unanswered");
  flag(attempt.absence_observed, "absence observed");
  flag(attempt.deregistration_owed, "deregistration owed");
  flag(attempt.environment_removed, "environment removed");
  flag(attempt.replacement_wanted, "replacement wanted");
  flag(attempt.launch_retry.tries > 0, "launch retried");
  flag(attempt.cleanup_retry.tries > 0, "clean-up retried");
  return text;
}

std::string describe(const Observation& seen) {
  static constexpr const char* kViews[] = {"prepared", "starting", "running", "exited", "missing", "unknown"};
  static constexpr const char* kHub[] = {"unreachable", "absent", "offline", "idle", "busy"};
  static constexpr const char* kLogs[] = {"nothing", "no job", "a job"};
  std::string text = std::string{"environment "} + kViews[static_cast<int>(seen.environment)];
  if (seen.clean) text += " cleanly";
  if (seen.exit_code) text += " with " + std::to_string(*seen.exit_code);
  text += std::string{", GitHub "} + kHub[static_cast<int>(seen.github)];
  text += std::string{", logs prove "} + kLogs[static_cast<int>(seen.evidence)];
  if (seen.listed_runner) text += ", runner listed";
  if (seen.bring_up_here) text += ", launching";
  if (!seen.surplus_allowed) text += ", at the minimum";
  return text;
}

std::string name_of(const Decision& decision) {
  static constexpr const char* kNames[] = {"nothing",
                                           "defer",
                                           "adopt",
                                           "wait",
                                           "record the runner",
                                           "record the clean exit",
                                           "move",
                                           "conclude",
                                           "terminate",
                                           "resume the termination",
                                           "withdraw the termination",
                                           "stop",
                                           "clean"};
  static_assert(std::size(kNames) == std::variant_size_v<Decision>);
  return kNames[decision.index()];
}

}  // namespace enumeration
