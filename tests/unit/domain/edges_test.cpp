// The table of edges, row by row.
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/domain/support.hpp"

namespace agent::domain {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the rows read as the table does
using States = std::set<State>;
using enum State;

void leads(State from, const States& native, const States& isolated) {
  for (const ProviderKind kind : kProviders) {
    const States& expected = kind == ProviderKind::native ? native : isolated;
    for (const State to : kStates) {
      Attempt moving = attempt(from, kind);
      const bool legal = transition(moving, to, at(1)).ok();
      EXPECT_EQ(legal, expected.contains(to)) << to_string(kind) << " to " << to_string(to);
      EXPECT_EQ(moving.state, legal ? to : from);
    }
  }
}

TEST(Edges, FromAllocated) {
  leads(allocated, {jit_received, failed, orphaned}, {preparing, failed, orphaned});
}
TEST(Edges, FromPreparing) { leads(preparing, {}, {prepared, failed, orphaned}); }
TEST(Edges, FromPrepared) { leads(prepared, {}, {jit_received, failed, orphaned}); }
TEST(Edges, FromJitReceived) {
  leads(jit_received, {starting, failed, orphaned}, {starting, failed, orphaned});
}
TEST(Edges, FromStarting) { leads(starting, {idle, busy, failed, orphaned}, {idle, busy, failed, orphaned}); }
TEST(Edges, FromIdle) { leads(idle, {busy, finished, failed, orphaned}, {busy, finished, failed, orphaned}); }
TEST(Edges, FromBusy) { leads(busy, {idle, finished, failed, orphaned}, {idle, finished, failed, orphaned}); }
TEST(Edges, FromTheEnds) {
  for (const State end : {finished, failed, orphaned})
    leads(end, {cleaned}, {destroying});
}
TEST(Edges, FromDestroying) { leads(destroying, {}, {cleaned, cleanup_deferred}); }
TEST(Edges, FromCleanupDeferred) { leads(cleanup_deferred, {}, {destroying}); }
TEST(Edges, FromCleaned) { leads(cleaned, {}, {}); }

TEST(States, ANativeAttemptCostsTheHostWhileItIsLive) {
  for (const State state : kStates)
    EXPECT_EQ(counts_against_host(ProviderKind::native, state), is_live(state)) << to_string(state);
}

TEST(States, AnIsolatedAttemptCostsTheHostUntilItIsCleaned) {
  for (const State state : kStates)
    EXPECT_EQ(counts_against_host(ProviderKind::isolated, state), state != cleaned) << to_string(state);
}

TEST(States, APersistentWorkspaceIsTakenUntilItsAttemptIsCleaned) {
  for (const State state : kStates) {
    EXPECT_EQ(holds_slot(WorkspaceKind::persistent, state), state != cleaned) << to_string(state);
    EXPECT_FALSE(holds_slot(WorkspaceKind::ephemeral, state));
  }
}

TEST(DecideTable, ABusyListenerThatGithubRejectsForItsVersionIsOrphaned) {
  for (const std::int64_t code : {3, 4, 7}) {
    Observation seen = observation(EnvironmentView::exited, GithubView::absent);
    seen.exit_code = code;
    EXPECT_EQ(decided(attempt(busy), seen), "orphaned") << code;
  }
}

}  // namespace
}  // namespace agent::domain
