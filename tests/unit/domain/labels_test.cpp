#include "domain/labels.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/unit/domain/support.hpp"

namespace agent::domain {
namespace {

using Labels = std::vector<std::string>;

Policy named(std::string name, Labels labels, std::int64_t priority = 0) {
  Policy made = testing::policy(std::move(name));
  made.labels = std::move(labels);
  made.priority = priority;
  return made;
}

Job job(Labels labels, std::int64_t id = 1) {
  Job made;
  made.id = JobId{id};
  made.repository = "acme/widgets";
  made.queued = true;
  made.labels = std::move(labels);
  return made;
}

// The owner's name, or the refusal's word.
std::string owner(const Job& wanted, const std::vector<Policy>& policies) {
  const std::vector<Assignment> answers = assign({wanted}, policies);
  if (answers.size() != 1) return std::to_string(answers.size()) + " answers";
  EXPECT_NE(answers[0].policy.has_value(), answers[0].refusal.has_value());
  return answers[0].policy ? answers[0].policy->str() : std::string{to_string(*answers[0].refusal)};
}

const Policy kLinux = named("linux", {"self-hosted", "Linux", "X64"});

TEST(Labels, AJobMatchesWhenItsLabelsAreASubset) {
  for (const Labels& labels : {Labels{"self-hosted"}, Labels{"Linux", "X64"},
                               Labels{"X64", "self-hosted", "Linux"}, Labels{"Linux", "Linux"}}) {
    EXPECT_TRUE(matches(kLinux, job(labels)));
  }
  for (const Labels& labels :
       {Labels{"gpu"}, Labels{"self-hosted", "gpu"}, Labels{"Linu"}, Labels{"Linux "}}) {
    EXPECT_FALSE(matches(kLinux, job(labels)));
  }
}

TEST(Labels, CaseDoesNotTellLabelsApart) {
  EXPECT_EQ(owner(job({"SELF-HOSTED", "linux", "x64"}), {kLinux}), "linux");
  EXPECT_EQ(fold("ABCxyzÄ-09"), "abcxyzÄ-09");
}

TEST(Labels, ImplicitLabelsAreTheMachinesOwn) {
  EXPECT_EQ(implicit_labels("linux", "x86_64"), (Labels{"self-hosted", "Linux", "X64"}));
  EXPECT_EQ(implicit_labels("Darwin", "aarch64"), (Labels{"self-hosted", "macOS", "ARM64"}));
  EXPECT_EQ(implicit_labels("win", "amd64"), (Labels{"self-hosted", "Windows", "X64"}));
  EXPECT_EQ(implicit_labels("osx", "arm"), (Labels{"self-hosted", "macOS", "ARM"}));
  EXPECT_EQ(implicit_labels("plan9", "riscv64"), (Labels{"self-hosted", "plan9", "riscv64"}));
}

TEST(Labels, ImplicitLabelsAreNotGuessedIntoAPolicy) {
  EXPECT_EQ(owner(job({"self-hosted"}), {named("bare", {"gpu"})}), "no_policy");
}

TEST(Labels, AKnownRunnerGroupMustBeThePolicys) {
  Job grouped = job({"Linux"});
  grouped.runner_group_id = 2;
  EXPECT_EQ(owner(grouped, {kLinux}), "no_policy");
  Policy other = kLinux;
  other.runner_group_id = 2;
  EXPECT_EQ(owner(grouped, {other}), "linux");
  grouped.runner_group_id = 0;
  EXPECT_EQ(owner(grouped, {other}), "linux");
}

TEST(Labels, AJobOfAnotherRepositoryIsNotServed) {
  Job foreign = job({"Linux"});
  foreign.repository = "acme/gadgets";
  EXPECT_EQ(owner(foreign, {kLinux}), "no_policy");
  foreign.repository = "Acme/Widgets";
  EXPECT_EQ(owner(foreign, {kLinux}), "linux");
}

TEST(Labels, AnOrganizationServesAllOfItsRepositories) {
  Policy organization = kLinux;
  organization.target = testing::target("Acme");
  Job any = job({"Linux"});
  any.repository = "acme/gadgets";
  EXPECT_EQ(owner(any, {organization}), "linux");
  any.repository = "acme2/gadgets";
  EXPECT_EQ(owner(any, {organization}), "no_policy");
}

TEST(Labels, AJobThatCannotBeMatchedSaysWhy) {
  EXPECT_EQ(owner(job({}), {kLinux}), "no_labels");
  Job grouped = job({});
  grouped.runner_group_id = 1;
  EXPECT_EQ(owner(grouped, {kLinux}), "group_without_labels");
  EXPECT_EQ(owner(job({"${{ matrix.os }}"}), {kLinux}), "unresolved_expression");
  EXPECT_EQ(owner(job({"Linux", "x-${{ inputs.size }}"}), {kLinux}), "unresolved_expression");
  EXPECT_EQ(owner(job({"gpu"}), {kLinux}), "no_policy");
  EXPECT_EQ(owner(job({"gpu"}), {}), "no_policy");
  for (const std::string& bad :
       {std::string{}, std::string{" Linux"}, std::string{"Linux "}, std::string{"a,b"}, std::string{"a\nb"},
        std::string(257, 'a'), std::string("a\0b", 3)}) {
    EXPECT_EQ(owner(job({"Linux", bad}), {kLinux}), "invalid_label");
  }
  EXPECT_TRUE(valid_label(std::string(256, 'a')));
  EXPECT_TRUE(valid_label("two words"));
}

TEST(Labels, TheMoreSpecificPolicyOwnsTheJob) {
  const Policy large = named("large", {"self-hosted", "Linux", "X64", "gpu"}, 100);
  for (const auto& policies : {std::vector{kLinux, large}, std::vector{large, kLinux}}) {
    EXPECT_EQ(owner(job({"Linux"}), policies), "linux");
    EXPECT_EQ(owner(job({"Linux", "gpu"}), policies), "large");
  }
}

TEST(Labels, PriorityDecidesBetweenEquallySpecificPolicies) {
  const Policy low = named("low", {"Linux", "a"}, -1);
  const Policy high = named("high", {"Linux", "b"}, 1);
  EXPECT_EQ(owner(job({"Linux"}), {low, high}), "high");
  EXPECT_EQ(owner(job({"Linux"}), {high, low}), "high");
}

TEST(Labels, AnExactTieIsRefusedForTheJobsThatItConcerns) {
  const Policy a = named("a", {"Linux", "a"});
  const Policy b = named("b", {"Linux", "b"});
  EXPECT_EQ(owner(job({"Linux"}), {a, b}), "ambiguous_policy");
  EXPECT_EQ(owner(job({"Linux", "b"}), {a, b}), "b");
}

TEST(Labels, ARepositorysPolicyGoesBeforeItsOrganizationsIfNothingElseDecides) {
  Policy organization = named("organization", {"self-hosted", "Linux"});
  organization.target = *Target::parse("acme");
  Policy repository = named("repository", {"self-hosted", "Linux"});
  EXPECT_EQ(owner(job({"Linux"}), {organization, repository}), "repository");
  EXPECT_EQ(owner(job({"Linux"}), {repository, organization}), "repository");
  organization.priority = 1;
  EXPECT_EQ(owner(job({"Linux"}), {organization, repository}), "organization");
}

TEST(Labels, WhatAPolicyLacksIsCountedCaseFoldedAndOnce) {
  EXPECT_EQ(labels_missing(kLinux, job({"LINUX", "self-hosted"})), 0U);
  EXPECT_EQ(labels_missing(kLinux, job({"gpu", "GPU", "arm", "x64"})), 2U);
}

TEST(Labels, ATieBelowTheBestPolicyIsNoTie) {
  const Policy a = named("a", {"Linux", "a"});
  const Policy b = named("b", {"Linux", "b"});
  const Policy best = named("best", {"Linux"});
  for (const auto& policies : {std::vector{a, b, best}, std::vector{best, a, b}, std::vector{a, best, b}}) {
    EXPECT_EQ(owner(job({"Linux"}), policies), "best");
  }
}

TEST(Labels, APausedPolicyKeepsItsJobsAndADrainingOneYields) {
  Policy specific = named("specific", {"Linux"});
  specific.state = PolicyState::paused;
  EXPECT_EQ(owner(job({"Linux"}), {specific, kLinux}), "specific");
  specific.state = PolicyState::draining;
  EXPECT_EQ(owner(job({"Linux"}), {specific, kLinux}), "linux");
  EXPECT_EQ(owner(job({"Linux"}), {kLinux, specific}), "linux");
  EXPECT_EQ(owner(job({"Linux"}), {specific}), "specific");
}

TEST(Labels, ARenamedPolicyDoesNotTieWithItsOwnRemains) {
  Policy before = kLinux;
  before.name = PolicyName{"before"};
  before.state = PolicyState::draining;
  EXPECT_EQ(owner(job({"Linux"}), {before, kLinux}), "linux");
}

TEST(Labels, OnlyQueuedJobsAreDemandAndEachCountsOnce) {
  Job waiting = job({"Linux"}, 3);
  waiting.queued = false;
  const std::vector<Assignment> answers =
      assign({job({"Linux"}, 2), waiting, job({"gpu"}, 1), job({"Linux"}, 2), job({"Linux"}, 1)}, {kLinux});
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0].job, JobId{2});
  EXPECT_EQ(answers[0].policy, PolicyName{"linux"});
  EXPECT_EQ(answers[1].job, JobId{1});
  EXPECT_EQ(answers[1].refusal, JobRefusal::no_policy);
}

TEST(Labels, AJobThatIsQueuedInOneListAndNotInAnotherIsAssumedQueued) {
  Job running = job({"Linux"});
  running.queued = false;
  EXPECT_EQ(assign({running, job({"Linux"})}, {kLinux}).size(), 1U);
}

TEST(Labels, AJobsRunnerNameDecidesNothing) {
  Job unnamed = job({"Linux"});
  unnamed.runner_name.clear();
  Policy nameless = kLinux;
  nameless.labels = {"gpu"};
  EXPECT_EQ(owner(unnamed, {nameless}), "no_policy");
}

TEST(Labels, OneJobsLabelsDoNotReachTheNext) {
  const std::vector<Assignment> answers = assign({job({"Linux", "gpu"}, 1), job({"Linux"}, 2)}, {kLinux});
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_FALSE(answers[0].policy);
  EXPECT_TRUE(answers[1].policy);
}

TEST(Labels, EveryRefusalHasItsOwnWord) {
  std::set<std::string_view> words;
  for (int value = 0; value <= static_cast<int>(JobRefusal::ambiguous_policy); ++value) {
    words.insert(to_string(static_cast<JobRefusal>(value)));
  }
  EXPECT_EQ(words.size(), static_cast<std::size_t>(JobRefusal::ambiguous_policy) + 1);
}

}  // namespace
}  // namespace agent::domain
