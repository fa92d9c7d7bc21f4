// The daemon killed at each point of the container provider, and at those of the core where a sandbox is in
// the balance.
#include "containers.hpp"
#include "support/everything.hpp"

namespace integration {
namespace {

std::vector<std::string> points() {
  std::vector<std::string> names = {"effect.prepare.before",       "effect.prepare.after",
                                    "effect.release.secret_taken", "effect.release.after",
                                    "effect.look.before",          "effect.destroy.stopped",
                                    "effect.destroy.after"};
  for (const char* room : {"/plugins/oci", "/plugins/support/engine"}) {
    const auto own = testkit::crash_points_in(std::string(RMGR_SOURCE_DIR) + room);
    names.insert(names.end(), own.begin(), own.end());
  }
  return names;
}

TEST(ContainerKills, leave_nothing_wherever_they_come) {
  ASSERT_GT(points().size(), 10U);
  for (const std::string& point : points()) {
    SCOPED_TRACE(point);
    ContainerStage stage(1);
    stage.agent().set_environment({"RMGR_CRASH_AT=" + point});
    ASSERT_TRUE(stage.agent().start());
    stage.queue(1, "true");
    ASSERT_TRUE(eventually([&] { return stage.agent().ended(); })) << "it was never reached";
    stage.agent().set_environment({});
    ASSERT_TRUE(stage.agent().start());
    ASSERT_TRUE(stage.settles(1));
    stage.expect_each_ran_once();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace integration
