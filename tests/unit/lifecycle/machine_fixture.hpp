// Drives the attempt machine as the engine does: one pending effect, answered by hand.
#pragma once

#include <gtest/gtest.h>

#include <optional>

#include "domain/backoff.hpp"
#include "domain/state.hpp"
#include "lifecycle/machine.hpp"

namespace lifecycle_test {

using namespace agent;
namespace event = lifecycle::event;
using domain::EffectKind;
using domain::ErrorCode;
using domain::FailureReason;
using domain::OutcomeKind;
using domain::State;

class Machine : public ::testing::Test {
 protected:
  Machine() {
    attempt_.id = domain::AttemptId("0a1b2c3d-0000-4000-8000-000000000001");
    attempt_.generation = domain::Generation(std::string(32, 'a'));
    attempt_.policy.name = domain::PolicyName("policy");
    attempt_.policy.target = *domain::Target::parse("acme/widgets");
    attempt_.runtime = "/runtimes/0a1b2c3d0000";
    take(lifecycle::begin(attempt_, now()));
  }

  domain::Instant now() const {
    return {.wall_ms = 1'000'000'000 + clock_ms_ + wall_offset_ms_, .boot_ms = clock_ms_, .boot_id = boot_};
  }
  void pass(std::int64_t ms) { clock_ms_ += ms; }

  void take(lifecycle::Step step) {
    attempt_ = step.attempt;
    last_ = std::move(step);
    ASSERT_LE(last_.orders.size(), 1U) << "at most one changing effect at a time";
    if (!last_.orders.empty()) {
      ASSERT_TRUE(attempt_.pending.has_value()) << "an order without an intent in the row";
      EXPECT_EQ(attempt_.pending->kind, last_.orders.front().kind);
      EXPECT_EQ(attempt_.pending->seq, last_.orders.front().seq);
    }
  }

  void tell(lifecycle::EventBody body, std::uint64_t seq = 0) {
    take(lifecycle::step(attempt_, {.attempt = attempt_.id, .seq = seq, .body = std::move(body)}, context()));
  }
  // Answers the pending effect.
  void answer(lifecycle::EventBody body) {
    ASSERT_TRUE(attempt_.pending.has_value());
    tell(std::move(body), attempt_.pending->seq);
  }
  void fail(ErrorCode code, std::int64_t retry_after_ms = 0, bool process_existed = false) {
    answer(event::Failed{
        .code = code, .retry_after = domain::Millis{retry_after_ms}, .process_existed = process_existed});
  }
  void restart() { tell(event::Resumed{}); }

  void see(domain::EnvironmentView environment, domain::GithubView github,
           domain::Evidence evidence = domain::Evidence::unknown,
           std::optional<std::int64_t> exit_code = {}) {
    domain::Observation seen;
    seen.environment = environment;
    seen.github = github;
    seen.evidence = evidence;
    seen.exit_code = exit_code;
    seen.clean = exit_code == 0;
    if (github != domain::GithubView::absent && github != domain::GithubView::unreachable)
      seen.listed_runner = domain::RunnerId(7);
    seen.bring_up_here = lifecycle::in_bring_up(attempt_);
    tell(event::Observed{.seen = seen, .listing_began = now()});
  }

  lifecycle::Context context() const {
    return {.now = now(),
            .demand_persists = demand_,
            .launching_allowed = launching_,
            .target_configured = configured_};
  }

  std::optional<EffectKind> pending() const {
    return attempt_.pending ? std::optional(attempt_.pending->kind) : std::nullopt;
  }

  // The launch up to the answer of `until`.
  void launch(EffectKind until) {
    while (pending() && *pending() != until)
      step_on();
    ASSERT_EQ(pending(), until);
  }
  void step_on() {
    switch (*pending()) {
      case EffectKind::acquire_package:
        answer(event::Acquired{.digest = domain::PackageDigest("d"), .downloaded = false});
        break;
      case EffectKind::materialize: answer(event::Materialized{}); break;
      case EffectKind::prepare:
        answer(event::Prepared{.environment = domain::EnvironmentId("native:1")});
        break;
      case EffectKind::register_runner: answer(event::Registered{.runner = domain::RunnerId(7)}); break;
      case EffectKind::spawn_held:
        answer(event::Held{.process = {.pid = 42, .start_token = 1, .boot_id = domain::BootId("boot")}});
        break;
      case EffectKind::release: answer(event::Started{}); break;
      case EffectKind::deregister:
        answer(event::Deregistered{.removal = event::Removal::gone, .found = std::nullopt});
        break;
      case EffectKind::stop: answer(event::Stopped{}); break;
      case EffectKind::destroy: answer(event::Destroyed{}); break;
      case EffectKind::scrub: answer(event::Scrubbed{}); break;
    }
  }
  // The registration that is pending runs into its deadline, and its name is not listed when it is looked up.
  void asked_in_vain() {
    fail(ErrorCode::deadline);
    pass(2'000);
    tell(event::Timer{});
    answer(event::Deregistered{.removal = event::Removal::not_listed, .found = std::nullopt});
  }
  void started() {
    launch(EffectKind::release);
    step_on();
    ASSERT_EQ(attempt_.state, State::starting);
  }
  // Whatever is still owed is done.
  void wind_up() {
    for (int steps = 0; steps < 10 && pending(); ++steps)
      step_on();
    EXPECT_EQ(attempt_.state, State::cleaned);
    EXPECT_FALSE(attempt_.deregistration_owed);
  }

  domain::BootId boot_{"boot"};
  std::int64_t wall_offset_ms_ = 0;
  domain::Attempt attempt_;
  lifecycle::Step last_;
  std::int64_t clock_ms_ = 1'000;
  bool demand_ = true;
  bool launching_ = true;
  bool configured_ = true;
};

}  // namespace lifecycle_test
