// Applies the decisions of domain::decide to the row.
#include "domain/state.hpp"
#include "lifecycle/parts.hpp"

namespace agent::lifecycle {

using domain::Attempt;

namespace {

// True when the changed attempt is to be decided once more with the same look.
struct Apply {
  Step& out;
  const domain::Observation& seen;
  const domain::Instant& listing_began;
  const Context& context;

  Attempt& attempt() const { return out.attempt; }

  bool operator()(const domain::Nothing&) const { return false; }
  bool operator()(const domain::Defer&) const { return false; }
  bool operator()(const domain::Adopt&) const { return false; }
  bool operator()(const domain::ResumeTermination&) const { return false; }  // progress() issues the step
  bool operator()(const domain::Stop&) const { return false; }               // destroying includes stopping
  bool operator()(const domain::Clean&) const { return false; }              // progress() issues it

  bool operator()(const domain::Wait&) const {
    if (!domain::is_concluded(attempt().state) || attempt().pending) return false;
    if (attempt().cleanup_retry.tries > 0 && !domain::reached(attempt().cleanup_retry.due, context.now))
      return false;
    retry_cleanup(attempt(), context.now);
    return false;
  }

  bool operator()(const domain::RecordRunner& decision) const {
    attempt().runner = decision.runner;
    settle_unanswered(attempt());
    return true;
  }

  bool operator()(const domain::RecordCleanExit&) const {
    attempt().clean_exit = true;
    record_exit();
    return true;
  }

  bool operator()(const domain::MoveTo& decision) const {
    attempt().cleanup_retry = {};
    return domain::transition(attempt(), decision.state, context.now).ok() &&
           decision.state == domain::State::starting;
  }

  bool operator()(const domain::Conclude& decision) const {
    for (const domain::State state : decision.through) {
      if (!domain::transition(attempt(), state, context.now)) return false;
    }
    record_exit();
    domain::Outcome outcome = decision.outcome;
    outcome.out_of_memory = attempt().out_of_memory;
    if (seen.github == domain::GithubView::absent && absence_proves(attempt(), listing_began)) {
      attempt().absence_observed = true;
    }
    conclude(out, outcome, context);
    attempt().replacement_wanted = decision.replace;
    return false;
  }

  bool operator()(const domain::Terminate& decision) const {
    if (attempt().cleanup_retry.tries > 0 && !domain::reached(attempt().cleanup_retry.due, context.now))
      return false;
    attempt().termination = domain::Termination{.kind = decision.kind,
                                                .step = domain::deregisters_first(decision.kind)
                                                            ? domain::TerminationStep::deregister
                                                            : domain::TerminationStep::stop};
    return false;
  }

  bool operator()(const domain::WithdrawTermination&) const {
    attempt().termination.reset();
    attempt().cleanup_retry = {};
    return true;
  }

  void record_exit() const {
    if (seen.exit_code && !attempt().exit_code) attempt().exit_code = seen.exit_code;
    if (seen.out_of_memory) attempt().out_of_memory = true;
  }
};

}  // namespace

void observe(Step& out, const event::Observed& observed, const Context& context) {
  const domain::Observation& seen = observed.seen;
  // Each repetition records something that was not recorded before, so the number of facts bounds the loop.
  constexpr int kMostFacts = 8;
  for (int round = 0; round < kMostFacts; ++round) {
    const domain::Decision decision = domain::decide(out.attempt, seen, context.now);
    if (!std::visit(Apply{out, seen, observed.listing_began, context}, decision)) return;
  }
}

}  // namespace agent::lifecycle
