// From the name of an image to a container of it, with registries that refuse, move and lack what is asked
// for.
#include <fstream>

#include "containers.hpp"
#include "support/everything.hpp"
#include "support/registry.hpp"

namespace integration {
namespace {

using nlohmann::json;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using testkit::Registries;

class ContainerImages : public ::testing::Test {
 protected:
  // What a test pulled is no image for the next one.
  ~ContainerImages() override {
    for (const json& image : json::parse(ask("GET", "/images/json?all=true"))) {
      if (image.dump().find(engine().image) == std::string::npos)
        ask("DELETE", "/images/" + image["Id"].get<std::string>() + "?force=true");
    }
  }

  [[nodiscard]] static std::string open(const std::string& name) {
    return std::string(testkit::kOpenRegistry) + "/" + name;
  }
  [[nodiscard]] static std::string credential_for(const std::string& registry, const std::string& file) {
    return ", registry_auth: [{registry: \"" + registry + "\", username: " + testkit::kRegistryUser +
           ", password: \"file:" + file + "\"}]";
  }
  // The environment of the only container, as its image made it.
  [[nodiscard]] static std::string mark() {
    const auto all = containers();
    return all.size() == 1 ? all.front()["Config"]["Env"].dump() : std::to_string(all.size()) + " containers";
  }
  static void expect_refused(const std::string& image, const std::string& remedy,
                             const std::string& config = "") {
    SCOPED_TRACE(image);
    ContainerStage stage(1, {.config = config, .image = image});
    ASSERT_TRUE(stage.agent().start());
    stage.queue(1, "true");
    ASSERT_TRUE(stage.refused_for(remedy)) << stage.agent().status_json();
    EXPECT_THAT(stage.agent().policies().front().remedy, HasSubstr(image));
    EXPECT_TRUE(stage.agent().attempts().empty()) << "nothing was granted";
    EXPECT_EQ(stage.github()->summary().registered_total, 0);
    EXPECT_TRUE(containers().empty());
  }

  Registries registries{engine()};
};

TEST_F(ContainerImages, that_are_nowhere_start_nothing_and_the_reason_is_shown) {
  registries.push("there", "1", "one");
  expect_refused("localhost/no-such-image:1", "is not in the engine", ", pull: never");
  expect_refused(open("no-such-name:1"), "does not exist in its registry");
  expect_refused(open("there:2"), "does not exist in its registry");
  expect_refused(open("there@sha256:" + std::string(64, 'a')), "does not exist in its registry");
  expect_refused("127.0.0.1:5999/there:1", "its registry does not answer");
}

TEST_F(ContainerImages, of_another_platform_start_nothing_and_the_reason_is_shown) {
  registries.push("foreign", "1", "one", "arm64");
  registries.push_list("listed", "1", "arm64");
  expect_refused(open("foreign:1"), "arm64");
  expect_refused(open("listed:1"), "no variant for this machine's platform");
}

TEST_F(ContainerImages, of_a_registry_that_wants_a_credential_need_the_right_one) {
  registries.push("private", "1", "one");
  const testkit::TemporaryDirectory scratch;
  std::ofstream(scratch / "right") << testkit::kRegistryPassword << "\n";
  std::ofstream(scratch / "wrong") << "needle-of-nobody\n";
  for (const char* name : {"right", "wrong"})
    ::chmod((scratch / name).c_str(), 0600);
  for (const char* registry : {testkit::kClosedRegistry, testkit::kTlsRegistry}) {
    const std::string image = std::string(registry) + "/private:1";
    expect_refused(image, "credential is missing, wrong or lacks the right");
    expect_refused(image, "credential is missing, wrong or lacks the right",
                   credential_for(registry, scratch / "wrong"));
    expect_refused(image, "credential is missing, wrong or lacks the right",
                   credential_for(testkit::kOpenRegistry, scratch / "right"));
    ContainerStage stage(1, {.config = credential_for(registry, scratch / "right"), .image = image});
    ASSERT_TRUE(stage.agent().start());
    stage.queue(1, "[ \"$MARK\" = one ]");
    ASSERT_TRUE(stage.settles(1));
    stage.expect_each_ran_once();
    const std::string told = testkit::contents(stage.agent().log_file()) + stage.agent().status_json() +
                             testkit::journal_dump(stage.agent().state() + "/journal.db");
    EXPECT_THAT(told, Not(HasSubstr(testkit::kRegistryPassword)));
    ask("DELETE", "/images/" + image + "?force=true");
  }
}

TEST_F(ContainerImages, over_tls_need_an_authority_that_the_engine_knows) {
  registries.push("there", "1", "one");
  expect_refused(std::string(testkit::kStrangeRegistry) + "/there:1", "certificate");
}

// A launch keeps the digest that its tag had when it was granted; the next one sees where the tag went.
TEST_F(ContainerImages, of_a_tag_that_moves_are_pinned_for_each_launch) {
  const std::string first = registries.push("moving", "1", "one");
  ContainerStage stage(1, {.config = ", pull: always", .image = open("moving:1")});
  const auto fault =
      stage.github()->add_fault({.action = "delay", .path = "*/generate-jitconfig", .delay_ms = 2'000});
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, "[ \"$MARK\" = one ]");
  ASSERT_TRUE(eventually([&] { return stage.github()->fault_hits(fault) > 0; }));
  const std::string second = registries.push("moving", "1", "two");
  ASSERT_NE(first, second);
  EXPECT_THAT(mark(), HasSubstr("MARK=one"));
  EXPECT_THAT(containers().front()["Config"]["Labels"]["runner-manager.image"].get<std::string>(),
              EndsWith("@" + first));
  ASSERT_TRUE(stage.settles(1));
  // What was resolved before is believed for a while.
  ASSERT_TRUE(eventually([&] {
    stage.queue(1, "[ \"$MARK\" = two ]");
    const int jobs = static_cast<int>(stage.github()->jobs().size());
    return stage.settles(jobs) && stage.github()->jobs().back().result == "success";
  }));
  stage.expect_nothing_left();
}

TEST_F(ContainerImages, of_a_tag_stay_where_it_was_while_nobody_pulls) {
  registries.push("staying", "1", "one");
  ContainerStage stage(1, {.config = ", pull: missing", .image = open("staying:1")});
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, "[ \"$MARK\" = one ]");
  ASSERT_TRUE(stage.settles(1));
  registries.push("staying", "1", "two");
  stage.queue(1, "[ \"$MARK\" = one ]");
  ASSERT_TRUE(stage.settles(2));
  stage.expect_each_ran_once();
}

}  // namespace
}  // namespace integration
