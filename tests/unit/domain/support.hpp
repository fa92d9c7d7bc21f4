// Values that the domain's tests start from.
#pragma once

#include <array>
#include <ostream>
#include <string>

#include "domain/attempt.hpp"
#include "domain/decision.hpp"
#include "domain/labels.hpp"
#include "domain/state.hpp"

namespace agent::domain::testing {

inline constexpr std::array kStates{State::allocated,    State::preparing,  State::prepared,
                                    State::jit_received, State::starting,   State::idle,
                                    State::busy,         State::finished,   State::failed,
                                    State::orphaned,     State::destroying, State::cleanup_deferred,
                                    State::cleaned};
inline constexpr std::array kProviders{ProviderKind::native, ProviderKind::isolated};
inline constexpr std::array kOutcomes{OutcomeKind::completed_job, OutcomeKind::exited_idle_without_work,
                                      OutcomeKind::failed, OutcomeKind::orphaned};
inline constexpr std::array kTerminations{TerminationKind::surplus, TerminationKind::idle_timeout,
                                          TerminationKind::registration_timeout, TerminationKind::job_timeout,
                                          TerminationKind::by_operator};
inline constexpr std::array kEnvironments{EnvironmentView::prepared, EnvironmentView::starting,
                                          EnvironmentView::running,  EnvironmentView::exited,
                                          EnvironmentView::missing,  EnvironmentView::unknown};
inline constexpr std::array kGithub{GithubView::unreachable, GithubView::absent, GithubView::offline,
                                    GithubView::idle, GithubView::busy};
inline constexpr std::array kEvidence{Evidence::unknown, Evidence::no_job, Evidence::ran};

inline constexpr std::int64_t kWall = 1'700'000'000'000;
inline constexpr std::int64_t kBoot = 5'000'000;

// A moment `ms` after the one at which every attempt here last changed.
inline Instant at(std::int64_t ms) { return {kWall + ms, kBoot + ms, BootId{"boot-a"}}; }

inline Target target(std::string_view text) { return Target::parse(text).value(); }

inline Policy policy(std::string name = "linux") {
  Policy made;
  made.name = PolicyName{std::move(name)};
  made.target = target("acme/widgets");
  made.gateway = InstanceName{"github"};
  made.provider = InstanceName{"native"};
  made.package_source = InstanceName{"github"};
  made.root = "/srv/runners";
  made.labels = {"self-hosted", "Linux", "X64"};
  made.max = 10;
  return made;
}

inline const AttemptId kAttempt{"0f8fad5b-d9cb-469f-a165-70867728950e"};

inline Attempt attempt(State state, ProviderKind kind = ProviderKind::native) {
  Attempt made;
  made.id = kAttempt;
  made.policy = policy();
  made.policy.provider_kind = kind;
  made.state = state;
  made.changed_at = at(0);
  made.runner = RunnerId{41};
  return made;
}

inline Observation observation(EnvironmentView environment, GithubView github,
                               Evidence evidence = Evidence::unknown) {
  Observation seen;
  seen.environment = environment;
  seen.github = github;
  seen.evidence = evidence;
  return seen;
}

inline std::string describe(const Outcome& outcome) {
  std::string text{to_string(outcome.kind)};
  if (outcome.reason) text += "{" + std::string{to_string(*outcome.reason)} + "}";
  if (outcome.out_of_memory) text += "+oom";
  return text;
}

inline std::string describe(const Decision& decision) {
  struct Words {
    std::string operator()(const Nothing&) const { return "nothing"; }
    std::string operator()(const Defer&) const { return "defer"; }
    std::string operator()(const Adopt&) const { return "adopt"; }
    std::string operator()(const Wait&) const { return "wait"; }
    std::string operator()(const RecordRunner& d) const { return "runner " + std::to_string(d.runner.get()); }
    std::string operator()(const RecordCleanExit&) const { return "clean exit"; }
    std::string operator()(const MoveTo& d) const { return "to " + std::string{to_string(d.state)}; }
    std::string operator()(const Conclude& d) const {
      std::string text = describe(d.outcome);
      for (const State state : d.through)
        text += " via " + std::string{to_string(state)};
      if (d.deregister_first) text += " deregister";
      if (d.replace) text += " replace";
      return text;
    }
    std::string operator()(const Terminate& d) const { return "terminate " + std::string{to_string(d.kind)}; }
    std::string operator()(const ResumeTermination&) const { return "resume termination"; }
    std::string operator()(const WithdrawTermination&) const { return "withdraw termination"; }
    std::string operator()(const Stop&) const { return "stop"; }
    std::string operator()(const Clean&) const { return "clean"; }
  };
  return std::visit(Words{}, decision);
}

// The decision in words, so that a table of expectations reads like the table of rules.
inline std::string decided(const Attempt& attempt, const Observation& seen, std::int64_t ms = 0) {
  return describe(decide(attempt, seen, at(ms)));
}

}  // namespace agent::domain::testing
