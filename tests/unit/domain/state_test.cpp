#include "domain/state.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/unit/domain/support.hpp"

namespace agent::domain {
namespace {

using testing::at;
using testing::attempt;
using testing::kOutcomes;
using testing::kProviders;
using testing::kStates;

using Edges = std::map<State, std::set<State>>;

// Written out by hand, row by row, and not derived from the code under test.
Edges edges(ProviderKind kind) {
  using enum State;
  if (kind == ProviderKind::native) {
    return {
        {allocated, {jit_received, failed, orphaned}},
        {jit_received, {starting, failed, orphaned}},
        {starting, {idle, busy, failed, orphaned}},
        {idle, {busy, finished, failed, orphaned}},
        {busy, {idle, finished, failed, orphaned}},
        {finished, {cleaned}},
        {failed, {cleaned}},
        {orphaned, {cleaned}},
    };
  }
  return {
      {allocated, {preparing, failed, orphaned}},
      {preparing, {prepared, failed, orphaned}},
      {prepared, {jit_received, failed, orphaned}},
      {jit_received, {starting, failed, orphaned}},
      {starting, {idle, busy, failed, orphaned}},
      {idle, {busy, finished, failed, orphaned}},
      {busy, {idle, finished, failed, orphaned}},
      {finished, {destroying}},
      {failed, {destroying}},
      {orphaned, {destroying}},
      {destroying, {cleaned, cleanup_deferred}},
      {cleanup_deferred, {destroying}},
  };
}

TEST(States, EveryEdgeOfTheMatrixIsLegalOrARefusalThatChangesNothing) {
  int legal = 0;
  int illegal = 0;
  for (const ProviderKind kind : kProviders) {
    const Edges table = edges(kind);
    for (const State from : kStates) {
      const auto row = table.find(from);
      for (const State to : kStates) {
        SCOPED_TRACE(::testing::Message()
                     << to_string(kind) << ": " << to_string(from) << " to " << to_string(to));
        const bool expected = row != table.end() && row->second.contains(to);
        EXPECT_EQ(legal_edge(kind, from, to), expected);
        Attempt moved = attempt(from, kind);
        const Attempt before = moved;
        const Result<void> result = transition(moved, to, at(77));
        EXPECT_EQ(result.ok(), expected);
        if (expected) {
          ++legal;
          Attempt after = before;
          after.state = to;
          after.changed_at = at(77);
          EXPECT_EQ(moved, after);
        } else {
          ++illegal;
          EXPECT_EQ(moved, before);
          EXPECT_EQ(result.error().code, ErrorCode::invalid);
          const std::string expected_words =
              "from " + std::string{to_string(from)} + " to " + std::string{to_string(to)} + " ";
          EXPECT_NE(result.error().message.find(expected_words), std::string::npos) << result.error().message;
        }
      }
    }
  }
  EXPECT_EQ(legal + illegal, 2 * 13 * 13);
  EXPECT_EQ(legal, 21 + 30);
}

TEST(States, NoStateLeadsToItself) {
  for (const ProviderKind kind : kProviders) {
    for (const State state : kStates)
      EXPECT_FALSE(legal_edge(kind, state, state)) << to_string(state);
  }
}

TEST(States, EveryLiveStateCanFailAndCanBeOrphaned) {
  for (const ProviderKind kind : kProviders) {
    for (const auto& [from, next] : edges(kind)) {
      if (!is_live(from)) continue;
      EXPECT_TRUE(legal_edge(kind, from, State::failed)) << to_string(from);
      EXPECT_TRUE(legal_edge(kind, from, State::orphaned)) << to_string(from);
    }
  }
}

struct Meaning {
  State state;
  bool live, native_counts, isolated_counts, persistent_slot;
};
constexpr Meaning kMeanings[] = {
    {State::allocated, true, true, true, true},    {State::preparing, true, true, true, true},
    {State::prepared, true, true, true, true},     {State::jit_received, true, true, true, true},
    {State::starting, true, true, true, true},     {State::idle, true, true, true, true},
    {State::busy, true, true, true, true},         {State::finished, false, false, true, true},
    {State::failed, false, false, true, true},     {State::orphaned, false, false, true, true},
    {State::destroying, false, false, true, true}, {State::cleanup_deferred, false, false, true, true},
    {State::cleaned, false, false, false, false},
};

TEST(States, EachMeansOneThingForLivenessCapacityAndSlots) {
  std::set<State> seen;
  for (const Meaning& row : kMeanings) {
    SCOPED_TRACE(to_string(row.state));
    seen.insert(row.state);
    EXPECT_EQ(is_live(row.state), row.live);
    EXPECT_EQ(is_concluded(row.state), !row.live);
    EXPECT_EQ(counts_against_host(ProviderKind::native, row.state), row.native_counts);
    EXPECT_EQ(counts_against_host(ProviderKind::isolated, row.state), row.isolated_counts);
    EXPECT_EQ(holds_slot(WorkspaceKind::persistent, row.state), row.persistent_slot);
    EXPECT_FALSE(holds_slot(WorkspaceKind::ephemeral, row.state));
  }
  EXPECT_EQ(seen.size(), kStates.size());
}

TEST(States, TheTerminalStateFollowsFromTheOutcome) {
  EXPECT_EQ(terminal_state(OutcomeKind::completed_job), State::finished);
  EXPECT_EQ(terminal_state(OutcomeKind::exited_idle_without_work), State::finished);
  EXPECT_EQ(terminal_state(OutcomeKind::failed), State::failed);
  EXPECT_EQ(terminal_state(OutcomeKind::orphaned), State::orphaned);
}

bool may_conclude(ProviderKind kind, State from, OutcomeKind outcome) {
  if (!edges(kind).contains(from) || !is_live(from)) return false;
  if (outcome == OutcomeKind::completed_job) return from == State::busy;
  if (outcome == OutcomeKind::exited_idle_without_work) return from == State::idle;
  return true;
}

TEST(States, ConcludingIsLegalExactlyWhereTheOutcomeIs) {
  for (const ProviderKind kind : kProviders) {
    for (const State from : kStates) {
      for (const OutcomeKind outcome : kOutcomes) {
        SCOPED_TRACE(::testing::Message()
                     << to_string(kind) << ": " << to_string(from) << " as " << to_string(outcome));
        Outcome wanted{outcome, std::nullopt, true};
        if (outcome == OutcomeKind::failed) wanted.reason = FailureReason::job_timed_out;
        Attempt ended = attempt(from, kind);
        const Attempt before = ended;
        const Result<void> result = conclude(ended, wanted, at(9));
        ASSERT_EQ(result.ok(), may_conclude(kind, from, outcome));
        if (result.ok()) {
          Attempt after = before;
          after.state = terminal_state(outcome);
          after.changed_at = at(9);
          after.outcome = wanted;
          EXPECT_EQ(ended, after);
        } else {
          EXPECT_EQ(ended, before);
          EXPECT_NE(result.error().message.find(to_string(from)), std::string::npos);
        }
      }
    }
  }
}

TEST(States, AFailureNeedsAReasonAndNothingElseHasOne) {
  for (const OutcomeKind outcome : kOutcomes) {
    const State from = outcome == OutcomeKind::exited_idle_without_work ? State::idle : State::busy;
    Outcome wrong{outcome, FailureReason::other, false};
    if (outcome == OutcomeKind::failed) wrong.reason.reset();
    Attempt ended = attempt(from);
    const Attempt before = ended;
    EXPECT_FALSE(conclude(ended, wrong, at(9)).ok()) << to_string(outcome);
    EXPECT_EQ(ended, before);
  }
}

}  // namespace
}  // namespace agent::domain
