#include "domain/policy.hpp"

#include <gtest/gtest.h>

#include "tests/unit/domain/support.hpp"

namespace agent::domain {
namespace {

constexpr std::int64_t kMebibyte = 1024LL * 1024;

// The fields that the problems name, joined.
std::string fields(const std::vector<std::string>& problems) {
  std::string text;
  for (const std::string& problem : problems) {
    if (!text.empty()) text += ' ';
    text += problem.substr(0, problem.find(':'));
  }
  return text;
}

template <class Change>
std::string problems_of(Change change) {
  Policy made = testing::policy();
  change(made);
  return fields(check_policy(made));
}

void isolate(Policy& made) {
  made.provider_kind = ProviderKind::isolated;
  made.profile.image = "ghcr.io/acme/runner@sha256:0";
}

TEST(Policy, AnOrdinaryOneIsLegal) {
  EXPECT_EQ(problems_of([](Policy&) {}), "");
  EXPECT_EQ(problems_of(isolate), "");
  EXPECT_EQ(problems_of([](Policy& p) { p.workspace = WorkspaceKind::persistent; }), "");
  EXPECT_EQ(problems_of([](Policy& p) { p.target = testing::target("acme"); }), "");
}

TEST(Policy, APersistentWorkspaceNeedsARepositoryAndANativeProvider) {
  EXPECT_EQ(problems_of([](Policy& p) {
              p.workspace = WorkspaceKind::persistent;
              p.target = testing::target("acme");
            }),
            "workspace");
  EXPECT_EQ(problems_of([](Policy& p) {
              isolate(p);
              p.workspace = WorkspaceKind::persistent;
            }),
            "workspace");
}

TEST(Policy, AnIsolatedOneNeedsARepositoryAndAnImage) {
  EXPECT_EQ(problems_of([](Policy& p) {
              isolate(p);
              p.target = testing::target("acme");
            }),
            "target");
  EXPECT_EQ(problems_of([](Policy& p) {
              isolate(p);
              p.profile.image.clear();
            }),
            "profile.image");
}

TEST(Policy, IsolatedProfilesHaveFloorsAndZeroIsNoWish) {
  struct Row {
    std::int64_t Profile::*field;
    std::int64_t floor;
    const char* name;
  };
  for (const Row& row : {Row{&Profile::cpu_milli, 100, "profile.cpu_milli"},
                         Row{&Profile::memory_bytes, 256 * kMebibyte, "profile.memory_bytes"},
                         Row{&Profile::disk_bytes, 1024 * kMebibyte, "profile.disk_bytes"},
                         Row{&Profile::pids, 1, "profile.pids"}}) {
    const auto with = [&](std::int64_t value, bool isolated) {
      return problems_of([&](Policy& p) {
        if (isolated) isolate(p);
        p.profile.*row.field = value;
      });
    };
    EXPECT_EQ(with(row.floor, true), "");
    EXPECT_EQ(with(0, true), "");
    EXPECT_EQ(with(-1, true), row.name);
    EXPECT_EQ(with(-1, false), row.name);
    if (row.floor == 1) continue;
    EXPECT_EQ(with(row.floor - 1, true), row.name);
    EXPECT_EQ(with(row.floor - 1, false), "");
  }
}

TEST(Policy, CountsAreInOrderAndBounded) {
  EXPECT_EQ(problems_of([](Policy& p) { p.min = p.max = 10'000; }), "");
  EXPECT_EQ(problems_of([](Policy& p) { p.max = 0; }), "");
  EXPECT_EQ(problems_of([](Policy& p) { p.min = -1; }), "min");
  EXPECT_EQ(problems_of([](Policy& p) { p.max = 10'001; }), "max");
  EXPECT_EQ(problems_of([](Policy& p) { p.min = 11; }), "min");
  EXPECT_EQ(problems_of([](Policy& p) { p.runner_group_id = 0; }), "runner_group_id");
}

TEST(Policy, LabelsAreValidUniqueAndBounded) {
  EXPECT_EQ(problems_of([](Policy& p) { p.labels.clear(); }), "labels");
  EXPECT_EQ(problems_of([](Policy& p) { p.labels = {"Linux", "linux"}; }), "labels");
  for (const char* bad : {"", " a", "a ", "a,b", "a\tb", "${{ x }}"}) {
    EXPECT_EQ(problems_of([&](Policy& p) { p.labels = {bad}; }), "labels") << bad;
  }
  const auto many = [](int count) {
    return problems_of([&](Policy& p) {
      p.labels.clear();
      for (int i = 0; i < count; ++i)
        p.labels.push_back("l" + std::to_string(i));
    });
  };
  EXPECT_EQ(many(100), "");
  EXPECT_EQ(many(101), "labels");
}

TEST(Policy, NamesAndReferencesAreGiven) {
  for (const std::string& bad : {std::string{}, std::string{"a b"}, std::string{"../a"}, std::string{".a"},
                                 std::string{"-a"}, std::string{"a/b"}, std::string(65, 'a')}) {
    EXPECT_EQ(problems_of([&](Policy& p) { p.name = PolicyName{bad}; }), "name") << bad;
  }
  EXPECT_EQ(problems_of([](Policy& p) { p.name = PolicyName{std::string(64, 'a')}; }), "");
  EXPECT_EQ(problems_of([](Policy& p) { p.target = Target{}; }), "target");
  EXPECT_EQ(problems_of([](Policy& p) { p.gateway = InstanceName{}; }), "gateway");
  EXPECT_EQ(problems_of([](Policy& p) { p.provider = InstanceName{}; }), "provider");
  EXPECT_EQ(problems_of([](Policy& p) { p.package_source = InstanceName{}; }), "package_source");
  EXPECT_EQ(problems_of([](Policy& p) {
              isolate(p);
              p.package_source = InstanceName{};
            }),
            "");
}

TEST(Policy, ARootIsAnAbsolutePathOfItsOwn) {
  for (const char* good : {"/srv/r", "/srv/r/", "C:\\r", "d:/r"}) {
    EXPECT_EQ(problems_of([&](Policy& p) { p.root = good; }), "") << good;
  }
  for (const std::string& bad : {std::string{}, std::string{"srv/r"}, std::string{"/"}, std::string{"//"},
                                 std::string{"C:\\"}, std::string{"C:r"}, std::string{"/a/../b"},
                                 std::string{"/a/./b"}, std::string{"/a\nb"}, "/" + std::string(1024, 'a')}) {
    EXPECT_EQ(problems_of([&](Policy& p) { p.root = bad; }), "root") << bad;
  }
}

TEST(Policy, TimeoutsAreBoundedAndOnlySomeMayBeZero) {
  struct Row {
    Millis Timeouts::*field;
    bool zero;
    const char* name;
  };
  for (const Row& row :
       {Row{&Timeouts::jit_handoff, false, "timeouts.jit_handoff"},
        Row{&Timeouts::startup, false, "timeouts.startup"}, Row{&Timeouts::idle, false, "timeouts.idle"},
        Row{&Timeouts::stop_grace, true, "timeouts.stop_grace"}, Row{&Timeouts::job, true, "timeouts.job"}}) {
    const auto with = [&](std::int64_t ms) {
      return problems_of([&](Policy& p) { p.timeouts.*row.field = Millis{ms}; });
    };
    EXPECT_EQ(with(0), row.zero ? "" : row.name);
    EXPECT_EQ(with(1), "");
    EXPECT_EQ(with(-1), row.name);
    EXPECT_EQ(with(35LL * 86'400'000), "");
    EXPECT_EQ(with(35LL * 86'400'000 + 1), row.name);
  }
}

TEST(Policy, EveryProblemIsReportedAtOnce) {
  EXPECT_EQ(problems_of([](Policy& p) {
              p.name = PolicyName{};
              p.labels.clear();
              p.min = -1;
              p.timeouts.idle = Millis{0};
              p.root.clear();
            }),
            "name root labels min timeouts.idle");
}

// ---- Between policies

std::vector<Policy> two() {
  std::vector<Policy> made{testing::policy("a"), testing::policy("b")};
  made[1].labels.emplace_back("gpu");
  return made;
}

TEST(Policies, DifferentOnesAreLegalAndMayShareAnEphemeralRoot) {
  EXPECT_TRUE(check_policies({}).empty());
  EXPECT_TRUE(check_policies(two()).empty());
}

TEST(Policies, NamesAreUnique) {
  std::vector<Policy> made = two();
  made[1].name = made[0].name;
  EXPECT_EQ(check_policies(made).size(), 1U);
}

TEST(Policies, EqualTargetLabelsGroupAndPriorityAreRefused) {
  std::vector<Policy> made = two();
  made[1].labels = {"X64", "LINUX", "self-hosted"};
  made[1].target = testing::target("ACME/widgets");
  ASSERT_EQ(check_policies(made).size(), 1U);
  EXPECT_NE(check_policies(made)[0].find("`a` and `b`"), std::string::npos);
  std::vector<Policy> other = made;
  other[1].priority = 1;
  EXPECT_TRUE(check_policies(other).empty());
  other = made;
  other[1].runner_group_id = 2;
  EXPECT_TRUE(check_policies(other).empty());
  other = made;
  other[1].target = testing::target("acme");
  EXPECT_TRUE(check_policies(other).empty());
}

TEST(Policies, APersistentRootIsNobodyElses) {
  std::vector<Policy> made = two();
  made[0].workspace = WorkspaceKind::persistent;
  for (const char* bad : {"/srv/runners", "/srv/runners/", "/srv//runners", "/srv/runners/s1"}) {
    made[1].root = bad;
    EXPECT_EQ(check_policies(made).size(), 1U) << bad;
  }
  for (const char* good : {"/srv/runners2", "/srv", "/srv/Runners"}) {
    made[1].root = good;
    EXPECT_TRUE(check_policies(made).empty()) << good;
  }
  made[1].workspace = WorkspaceKind::persistent;
  made[1].root = "/srv";
  EXPECT_EQ(check_policies(made).size(), 1U);
  made[0].root = "C:\\Runners";
  made[1].root = "c:/runners";
  EXPECT_EQ(check_policies(made).size(), 1U);
}

}  // namespace
}  // namespace agent::domain
