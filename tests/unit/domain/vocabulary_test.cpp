#include "domain/vocabulary.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace agent::domain {
namespace {

// Every enumerator has its own word, the word leads back, and the first number past the end has none.
template <class T>
void round_trips(T last, std::initializer_list<std::string_view> samples) {
  std::set<std::string_view> words;
  for (int value = 0; value <= static_cast<int>(last); ++value) {
    const std::string_view word = to_string(static_cast<T>(value));
    EXPECT_FALSE(word.empty()) << value;
    EXPECT_TRUE(words.insert(word).second) << word;
    EXPECT_EQ(parse<T>(word), static_cast<T>(value)) << word;
    EXPECT_EQ(word.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos) << word;
    EXPECT_FALSE(parse<T>(std::string{word} + " ")) << word;
    EXPECT_FALSE(parse<T>(word.substr(1))) << word;
  }
  for (const std::string_view sample : samples)
    EXPECT_TRUE(words.contains(sample)) << sample;
  EXPECT_EQ(to_string(static_cast<T>(static_cast<int>(last) + 1)), "unknown");
  EXPECT_FALSE(parse<T>("unknown"));
  EXPECT_FALSE(parse<T>(""));
}

TEST(Vocabulary, States) { round_trips(State::cleaned, {"allocated", "jit_received", "cleanup_deferred"}); }
TEST(Vocabulary, Outcomes) {
  round_trips(OutcomeKind::orphaned, {"completed_job", "exited_idle_without_work"});
}
TEST(Vocabulary, Reasons) {
  round_trips(FailureReason::other, {"jit_expired", "terminated_after_registration_timeout", "no_free_slot"});
}
TEST(Vocabulary, Providers) { round_trips(ProviderKind::isolated, {"native"}); }
TEST(Vocabulary, Workspaces) { round_trips(WorkspaceKind::persistent, {"ephemeral"}); }
TEST(Vocabulary, PolicyStates) { round_trips(PolicyState::draining, {"active", "paused"}); }
TEST(Vocabulary, Terminations) { round_trips(TerminationKind::by_operator, {"surplus", "job_timeout"}); }
TEST(Vocabulary, TerminationSteps) { round_trips(TerminationStep::stop, {"deregister"}); }
TEST(Vocabulary, Effects) {
  round_trips(EffectKind::scrub, {"acquire_package", "spawn_held", "register_runner"});
}
TEST(Vocabulary, LimitingFactors) {
  round_trips(LimitingFactor::policy_minimum, {"demand", "host_capacity", "journal_unreadable"});
}

}  // namespace
}  // namespace agent::domain
