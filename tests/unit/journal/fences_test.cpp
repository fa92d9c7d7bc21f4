#include <gmock/gmock.h>

#include "unit/journal/fixture.hpp"

namespace agent::journal {

using domain::Attempt;
using domain::ErrorCode;
using ::testing::HasSubstr;

using Fences = JournalTest;

TEST_F(Fences, two_uncleaned_attempts_never_share_a_runtime_directory) {
  auto journal = open();
  Attempt first = sample::attempt(1);
  Attempt second = sample::attempt(2);
  second.runtime = first.runtime;
  ASSERT_OK(journal->commit(batch({first})));
  const auto refused = journal->commit(batch({second}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::exists);
  EXPECT_THAT(refused.error().message, HasSubstr("runtime directory " + first.runtime));
  EXPECT_THAT(refused.error().message, HasSubstr("nothing was written"));

  first.state = domain::State::cleaned;
  ASSERT_OK(journal->commit(batch({first})));
  EXPECT_OK(journal->commit(batch({second})));
}

TEST_F(Fences, a_terminal_attempt_keeps_its_directory_until_it_is_cleaned) {
  auto journal = open();
  Attempt first = sample::attempt(1);
  first.state = domain::State::failed;
  ASSERT_OK(journal->commit(batch({first})));
  Attempt second = sample::attempt(2);
  second.runtime = first.runtime;
  EXPECT_EQ(journal->commit(batch({second})).error().code, ErrorCode::exists);
}

TEST_F(Fences, two_uncleaned_attempts_of_a_policy_never_share_a_slot) {
  auto journal = open();
  Attempt first = sample::attempt(1);
  first.slot = 1;
  Attempt second = sample::attempt(2);
  second.slot = 1;
  ASSERT_OK(journal->commit(batch({first})));
  const auto refused = journal->commit(batch({second}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::exists);
  EXPECT_THAT(refused.error().message, HasSubstr("slot s1 of policy build"));
  EXPECT_THAT(refused.error().message, HasSubstr("nothing was written"));
}

// The policy is the name: another definition of it has the same slots.
TEST_F(Fences, a_slot_is_fenced_across_definitions_of_its_policy_but_not_across_policies) {
  auto journal = open();
  Attempt first = sample::attempt(1);
  first.slot = 1;
  Attempt second = sample::attempt(2);
  second.slot = 1;
  second.policy.max = 9;
  ASSERT_OK(journal->commit(batch({first})));
  EXPECT_EQ(journal->commit(batch({second})).error().code, ErrorCode::exists);
  second.policy.name = domain::PolicyName{"other"};
  EXPECT_OK(journal->commit(batch({second})));
}

TEST_F(Fences, a_fence_hit_by_the_second_attempt_of_a_batch_leaves_the_first_unwritten) {
  auto journal = open();
  const Attempt holder = sample::attempt(1);
  ASSERT_OK(journal->commit(batch({holder})));
  const Attempt fine = sample::attempt(2);
  Attempt fenced = sample::attempt(3);
  fenced.runtime = holder.runtime;
  fenced.policy.max = 77;  // a definition that goes with the transaction
  ASSERT_FALSE(journal->commit({{fine, fenced}, {{fine.id, sample::instant(1), "allocated", ""}}}).ok());
  EXPECT_FALSE(journal->find(fine.id)->has_value());
  EXPECT_FALSE(journal->find(fenced.id)->has_value());

  fenced.runtime = "/srv/elsewhere";
  ASSERT_OK(journal->commit(batch({fine, fenced})));
  EXPECT_EQ(**journal->find(fenced.id), fenced);
}

struct OnceCase {
  const char* name;
  void (*set)(Attempt&);
  void (*change)(Attempt&);
};

class WriteOnce : public JournalTest, public ::testing::WithParamInterface<OnceCase> {};

TEST_P(WriteOnce, is_refused_when_it_would_change) {
  auto journal = open();
  Attempt attempt = sample::attempt(1);
  ASSERT_OK(journal->commit(batch({attempt})));
  GetParam().set(attempt);
  ASSERT_OK(journal->commit(batch({attempt})));
  attempt.absence_observed = true;
  ASSERT_OK(journal->commit(batch({attempt})));  // the same value again is no change

  Attempt other = attempt;
  GetParam().change(other);
  other.clean_exit = true;
  const auto refused = journal->commit(batch({other}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::internal);
  EXPECT_THAT(refused.error().message, HasSubstr(GetParam().name));
  EXPECT_THAT(refused.error().message, HasSubstr("nothing was written"));
  EXPECT_EQ(**journal->find(attempt.id), attempt);
}

constexpr auto kNothing = [](Attempt&) {};

INSTANTIATE_TEST_SUITE_P(
    facts, WriteOnce,
    ::testing::Values(
        OnceCase{"generation", kNothing, [](Attempt& a) { a.generation = domain::Generation{"x"}; }},
        OnceCase{"policy", kNothing, [](Attempt& a) { a.policy.priority = 5; }},
        OnceCase{"policy", kNothing, [](Attempt& a) { a.policy.labels.emplace_back("gpu"); }},
        OnceCase{"policy", kNothing,
                 [](Attempt& a) { a.policy.target = domain::Target::parse("Octo/repo").value(); }},
        OnceCase{"runtime", kNothing, [](Attempt& a) { a.runtime = "/elsewhere"; }},
        OnceCase{"slot", kNothing, [](Attempt& a) { a.slot = 4; }},
        OnceCase{"package", [](Attempt& a) { a.package = domain::PackageDigest{"one"}; },
                 [](Attempt& a) { a.package = domain::PackageDigest{"two"}; }},
        OnceCase{"package", [](Attempt& a) { a.package = domain::PackageDigest{"one"}; },
                 [](Attempt& a) { a.package.reset(); }},
        OnceCase{"environment", [](Attempt& a) { a.environment = domain::EnvironmentId{"one"}; },
                 [](Attempt& a) { a.environment = domain::EnvironmentId{"two"}; }},
        OnceCase{"runner", [](Attempt& a) { a.runner = domain::RunnerId{1}; },
                 [](Attempt& a) { a.runner = domain::RunnerId{2}; }},
        OnceCase{"process",
                 [](Attempt& a) {
                   a.process = domain::ProcessIdentity{1, 2, domain::BootId{"b"}};
                 },
                 [](Attempt& a) {
                   a.process = domain::ProcessIdentity{1, 3, domain::BootId{"b"}};
                 }},
        OnceCase{"process",
                 [](Attempt& a) {
                   a.process = domain::ProcessIdentity{1, 2, domain::BootId{"b"}};
                 },
                 [](Attempt& a) { a.process.reset(); }},
        OnceCase{"final state", [](Attempt& a) { a.state = domain::State::cleaned; },
                 [](Attempt& a) { a.state = domain::State::idle; }}));

}  // namespace agent::journal
