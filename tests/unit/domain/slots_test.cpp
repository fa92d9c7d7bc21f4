#include "domain/slots.hpp"

#include <gtest/gtest.h>

#include "tests/unit/domain/support.hpp"

namespace agent::domain {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): values of the domain

Attempt in_slot(std::int64_t slot, State state, std::string name = "linux") {
  Attempt made = attempt(state);
  made.policy = policy(std::move(name));
  made.policy.workspace = WorkspaceKind::persistent;
  made.policy.root = "/slots/" + made.policy.name.str();
  made.slot = slot;
  return made;
}

std::vector<const Attempt*> pointers(const std::vector<Attempt>& attempts) {
  std::vector<const Attempt*> all;
  for (const Attempt& each : attempts)
    all.push_back(&each);
  return all;
}

TEST(Slots, TheLowestGapComesFirst) {
  EXPECT_EQ(free_slot({}, 4), 1);
  EXPECT_EQ(free_slot({1, 2}, 4), 3);
  EXPECT_EQ(free_slot({2, 3}, 4), 1);
  EXPECT_EQ(free_slot({1, 3, 4}, 4), 2);
}

TEST(Slots, NoneIsGivenAboveTheCeiling) {
  EXPECT_EQ(free_slot({1, 2, 3}, 3), std::nullopt);
  EXPECT_EQ(free_slot({}, 0), std::nullopt);
  EXPECT_EQ(free_slot({1, 2, 3, 9}, 3), std::nullopt) << "a slot above a lowered ceiling is nobody's gap";
  EXPECT_EQ(free_slot({9}, 1), 1);
}

TEST(Slots, AnEndedAttemptKeepsItsSlotUntilItIsCleaned) {
  for (const State state : kStates) {
    const std::vector<Attempt> one{in_slot(1, state)};
    const bool held = !held_slots(in_slot(0, State::busy).policy, pointers(one)).empty();
    EXPECT_EQ(held, state != State::cleaned) << to_string(state);
  }
}

TEST(Slots, OfAnotherPolicyAreNotInTheWay) {
  const std::vector<Attempt> others{in_slot(1, State::busy, "other"), in_slot(2, State::busy)};
  EXPECT_EQ(held_slots(in_slot(0, State::busy).policy, pointers(others)), std::set<std::int64_t>{2});
}

TEST(Slots, OfAPolicyThatHadTheRootBeforeAreInTheWay) {
  std::vector<Attempt> others{in_slot(1, State::failed, "before")};
  Policy now = in_slot(0, State::busy, "now").policy;
  now.root = others[0].policy.root;
  EXPECT_EQ(held_slots(now, pointers(others)), std::set<std::int64_t>{1});
}

TEST(Slots, FreeOnesAreCountedBelowTheCeiling) {
  const std::vector<Attempt> some{in_slot(1, State::busy), in_slot(3, State::failed),
                                  in_slot(9, State::busy)};
  Policy made = some[0].policy;
  made.max = 4;
  EXPECT_EQ(count_free_slots(made, held_slots(made, pointers(some))), 2);
  made.max = 1;
  EXPECT_EQ(count_free_slots(made, held_slots(made, pointers(some))), 0);
  made.max = 0;
  EXPECT_EQ(count_free_slots(made, held_slots(made, pointers(some))), 0);
}

TEST(Slots, AreOnlyForAPersistentWorkspaceOfOneRepository) {
  Policy made = policy();
  EXPECT_FALSE(uses_slots(made)) << "ephemeral";
  made.workspace = WorkspaceKind::persistent;
  EXPECT_TRUE(uses_slots(made));
  made.target = target("acme");
  EXPECT_FALSE(uses_slots(made)) << "an organization";
  made = policy();
  made.workspace = WorkspaceKind::persistent;
  made.provider_kind = ProviderKind::isolated;
  EXPECT_FALSE(uses_slots(made));
}

TEST(Slots, AreNamedByTheirNumber) { EXPECT_EQ(slot_directory_name(1), "s1"); }

TEST(Slots, EveryRefusalHasItsOwnWordAndRemedy) {
  std::set<std::string_view> words;
  std::set<std::string_view> remedies;
  for (int value = 0; value <= static_cast<int>(SlotRefusal::slot_still_holds_runner_state); ++value) {
    const auto refusal = static_cast<SlotRefusal>(value);
    words.insert(to_string(refusal));
    remedies.insert(remedy(refusal));
    EXPECT_EQ(remedy(refusal).find('.'), remedy(refusal).size() - 1) << "one sentence";
  }
  EXPECT_EQ(words.size(), 8U);
  EXPECT_EQ(remedies.size(), 8U);
}

TEST(Slots, AreJudgedByTheRowBeforeTheDiskIsLookedAt) {
  Attempt made = in_slot(2, State::finished);
  made.runtime = "/slots/linux/s2";
  EXPECT_EQ(check_slot(made, &made.policy), std::nullopt);
  EXPECT_EQ(check_slot(made, nullptr), std::nullopt) << "a policy that is gone stops no cleaning";
  Policy moved = made.policy;
  moved.root = "/srv/others";
  EXPECT_EQ(check_slot(made, &moved), SlotRefusal::slot_root_disagrees_with_policy);
  for (const char* path :
       {"/slots/linux/s1", "/slots/linux/s02", "/slots/linux/s2/", "/slots/linux/../s2", "s2"}) {
    made.runtime = path;
    EXPECT_EQ(check_slot(made, nullptr), SlotRefusal::slot_path_is_not_the_journalled_slot) << path;
  }
  made = in_slot(2, State::finished);
  made.slot.reset();
  EXPECT_EQ(check_slot(made, nullptr), SlotRefusal::slot_path_is_not_the_journalled_slot);
}

// Against the obvious way, for every set of slots up to eight.
TEST(Slots, EverySetGivesItsLowestGap) {
  for (unsigned bits = 0; bits < 256; ++bits) {
    std::set<std::int64_t> held;
    std::int64_t lowest = 0;
    for (std::int64_t slot = 8; slot >= 1; --slot) {
      if ((bits >> (slot - 1)) & 1U) {
        held.insert(slot);
      } else {
        lowest = slot;
      }
    }
    EXPECT_EQ(free_slot(held, 8), lowest == 0 ? std::nullopt : std::optional(lowest)) << bits;
  }
}

}  // namespace
}  // namespace agent::domain
