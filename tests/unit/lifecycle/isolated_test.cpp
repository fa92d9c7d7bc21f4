// Attempts in a sandbox: prepared before the registration, one hand-off, and destroyed by proof alone.
#include "machine_fixture.hpp"

namespace lifecycle_test {
namespace {

using domain::EnvironmentView;
using domain::Evidence;
using domain::GithubView;
using event::Removal;

class Isolated : public Machine {
 protected:
  Isolated() {
    domain::Attempt fresh;
    fresh.id = attempt_.id;
    fresh.generation = attempt_.generation;
    fresh.policy = attempt_.policy;
    fresh.policy.provider_kind = domain::ProviderKind::isolated;
    fresh.policy.profile.image = "runner:1";
    fresh.runtime = attempt_.runtime;
    take(lifecycle::begin(fresh, now()));
  }
  // A finished job whose end waits for the destruction.
  void destroying() {
    started();
    see(EnvironmentView::exited, GithubView::absent, Evidence::ran, 0);
    ASSERT_EQ(attempt_.outcome->kind, OutcomeKind::completed_job);
    ASSERT_EQ(attempt_.state, State::destroying);
    ASSERT_EQ(pending(), EffectKind::destroy);
  }
  bool counts() const { return domain::counts_against_host(attempt_.policy.provider_kind, attempt_.state); }
};

TEST_F(Isolated, a_job_walks_through_every_state_of_a_sandbox) {
  EXPECT_EQ(attempt_.state, State::allocated);
  launch(EffectKind::prepare);
  EXPECT_EQ(attempt_.state, State::preparing) << "journalled before the provider is asked";
  step_on();
  EXPECT_EQ(attempt_.state, State::prepared);
  EXPECT_TRUE(attempt_.environment.has_value());
  ASSERT_EQ(pending(), EffectKind::register_runner);
  step_on();
  EXPECT_EQ(attempt_.state, State::jit_received);
  ASSERT_EQ(pending(), EffectKind::release) << "there is no held process";
  step_on();
  EXPECT_EQ(attempt_.state, State::starting);
  see(EnvironmentView::running, GithubView::busy);
  EXPECT_EQ(attempt_.state, State::busy);
  see(EnvironmentView::exited, GithubView::absent, Evidence::ran, 0);
  EXPECT_EQ(attempt_.outcome->kind, OutcomeKind::completed_job);
  EXPECT_EQ(attempt_.state, State::destroying) << "journalled before the sandbox is touched";
  EXPECT_TRUE(counts());
  wind_up();
  EXPECT_FALSE(counts());
}

TEST_F(Isolated, a_sandbox_is_prepared_before_a_registration_is_asked_for) {
  launch(EffectKind::prepare);
  EXPECT_FALSE(attempt_.jit_requested_at.has_value());
  fail(ErrorCode::unreachable);
  EXPECT_EQ(attempt_.outcome->reason, FailureReason::isolation_runtime_operation_failed) << "tried once";
  EXPECT_FALSE(attempt_.deregistration_owed);
  wind_up();
}

TEST_F(Isolated, a_sandbox_without_a_name_is_not_used) {
  launch(EffectKind::prepare);
  answer(event::Prepared{.environment = std::nullopt});
  EXPECT_EQ(attempt_.state, State::destroying);
  EXPECT_FALSE(attempt_.jit_requested_at.has_value());
}

TEST_F(Isolated, the_secret_is_handed_over_once) {
  launch(EffectKind::release);
  fail(ErrorCode::retry);
  EXPECT_EQ(attempt_.outcome->reason, FailureReason::isolation_jit_handoff_rejected);
  EXPECT_TRUE(last_.drop_secret);
  EXPECT_TRUE(attempt_.deregistration_owed);
  wind_up();
}

TEST_F(Isolated, a_failure_of_the_provider_is_never_answered_by_another_kind_of_provider) {
  launch(EffectKind::prepare);
  fail(ErrorCode::unsupported);
  EXPECT_EQ(attempt_.outcome->reason, FailureReason::isolation_unsupported);
  EXPECT_TRUE(last_.refused_for_good) << "the policy is held";
  while (pending()) {
    EXPECT_NE(pending(), EffectKind::spawn_held);
    EXPECT_NE(pending(), EffectKind::release);
    step_on();
  }
  EXPECT_EQ(attempt_.policy.provider_kind, domain::ProviderKind::isolated);
  EXPECT_EQ(attempt_.state, State::cleaned);
}

struct IsolationFailure {
  ErrorCode code;
  FailureReason reason;
  bool terminal;
};
class IsolationRefusal : public Isolated, public ::testing::WithParamInterface<IsolationFailure> {};
TEST_P(IsolationRefusal, becomes_a_word_of_the_closed_list) {
  launch(EffectKind::prepare);
  fail(GetParam().code);
  EXPECT_EQ(attempt_.outcome->reason, GetParam().reason);
  EXPECT_EQ(last_.refused_for_good, GetParam().terminal);
}
INSTANTIATE_TEST_SUITE_P(
    Table, IsolationRefusal,
    ::testing::Values(
        IsolationFailure{ErrorCode::unsupported, FailureReason::isolation_unsupported, true},
        IsolationFailure{ErrorCode::denied, FailureReason::isolation_permission_denied, true},
        IsolationFailure{ErrorCode::not_found, FailureReason::isolation_image_unavailable, true},
        IsolationFailure{ErrorCode::invalid, FailureReason::isolation_unsafe_runtime_path, true},
        IsolationFailure{ErrorCode::exists, FailureReason::isolation_ownership_mismatch, false},
        IsolationFailure{ErrorCode::full, FailureReason::isolation_disk_quota_unavailable, false},
        IsolationFailure{ErrorCode::deadline, FailureReason::isolation_runtime_operation_failed, false}));

class Interruption : public Isolated, public ::testing::WithParamInterface<EffectKind> {};
TEST_P(Interruption, of_a_preparation_is_a_failure_at_once_and_the_sandbox_is_destroyed_once) {
  launch(GetParam());
  restart();
  EXPECT_FALSE(pending().has_value()) << "no launch is resumed";
  EXPECT_TRUE(counts());
  see(EnvironmentView::prepared, GithubView::unreachable);
  EXPECT_EQ(attempt_.outcome->reason, FailureReason::preparation_interrupted);
  int destroyed = 0;
  for (int steps = 0; steps < 10 && pending(); ++steps) {
    destroyed += *pending() == EffectKind::destroy ? 1 : 0;
    if (*pending() == EffectKind::deregister) {
      answer(event::Deregistered{.removal = Removal::not_listed, .found = std::nullopt});
    } else {
      step_on();
    }
  }
  EXPECT_EQ(destroyed, 1);
  EXPECT_EQ(attempt_.state, State::cleaned);
  EXPECT_EQ(attempt_.deregistration_owed, GetParam() == EffectKind::register_runner);
}
INSTANTIATE_TEST_SUITE_P(EachStep, Interruption,
                         ::testing::Values(EffectKind::acquire_package, EffectKind::materialize,
                                           EffectKind::prepare, EffectKind::register_runner));

TEST_F(Isolated, a_restart_beside_a_running_sandbox_adopts_it) {
  launch(EffectKind::release);
  restart();
  EXPECT_FALSE(pending().has_value()) << "the secret is not used again";
  see(EnvironmentView::running, GithubView::unreachable);
  EXPECT_EQ(attempt_.state, State::starting);
  see(EnvironmentView::running, GithubView::idle);
  EXPECT_EQ(attempt_.state, State::idle);
}

TEST_F(Isolated, a_destruction_that_is_not_proven_is_deferred_and_keeps_the_hosts_capacity) {
  destroying();
  for (const std::int64_t wait : {30'000, 60'000, 120'000}) {
    fail(ErrorCode::busy);
    EXPECT_EQ(attempt_.state, State::cleanup_deferred);
    EXPECT_TRUE(counts());
    EXPECT_EQ(domain::elapsed(now(), *lifecycle::next_due(attempt_)).count(), wait);
    pass(wait - 1);
    tell(event::Timer{});
    EXPECT_FALSE(pending().has_value());
    pass(1);
    tell(event::Timer{});
    EXPECT_EQ(attempt_.state, State::destroying);
    ASSERT_EQ(pending(), EffectKind::destroy);
  }
  wind_up();
}

TEST_F(Isolated, a_restart_in_the_middle_of_a_destruction_repeats_it) {
  destroying();
  restart();
  EXPECT_EQ(attempt_.state, State::destroying);
  ASSERT_EQ(pending(), EffectKind::destroy);
  fail(ErrorCode::deadline);
  ASSERT_EQ(attempt_.state, State::cleanup_deferred);
  restart();
  EXPECT_EQ(attempt_.state, State::destroying) << "a restart makes it due";
  ASSERT_EQ(pending(), EffectKind::destroy);
}

TEST_F(Isolated, one_whose_id_was_not_on_record_gets_it_there_before_it_is_destroyed) {
  destroying();
  attempt_.environment.reset();
  const auto seq = attempt_.pending->seq;
  tell(event::SandboxFound{domain::EnvironmentId("found")}, seq);
  EXPECT_EQ(attempt_.environment, domain::EnvironmentId("found"));
  EXPECT_EQ(attempt_.state, State::destroying);
  ASSERT_EQ(pending(), EffectKind::destroy);
  EXPECT_NE(attempt_.pending->seq, seq);
}

TEST_F(Isolated, what_is_left_of_a_runtime_is_deferred_too) {
  destroying();
  step_on();
  ASSERT_EQ(pending(), EffectKind::scrub);
  fail(ErrorCode::busy);
  EXPECT_EQ(attempt_.state, State::cleanup_deferred);
  pass(30'000);
  tell(event::Timer{});
  EXPECT_EQ(pending(), EffectKind::scrub) << "the sandbox is proven gone and not asked for again";
  step_on();
  EXPECT_EQ(attempt_.state, State::cleaned);
}

TEST_F(Isolated, an_unknown_sandbox_of_a_concluded_attempt_is_deferred) {
  destroying();
  restart();
  const std::uint64_t seq = attempt_.pending->seq;
  see(EnvironmentView::unknown, GithubView::absent);
  EXPECT_EQ(attempt_.pending->seq, seq) << "what is in flight goes on";
  EXPECT_EQ(attempt_.state, State::destroying);
}

}  // namespace
}  // namespace lifecycle_test
