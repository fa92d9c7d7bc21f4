// The version rule: as a table, and with libraries that look like builds of other versions.
#include "plugin/version.hpp"

#include "plugin/manifest.hpp"
#include "unit/plugin/fixture.hpp"

namespace {

using namespace fixture;
using plugin::AbiVersion;
using plugin::ComponentKind;
using plugin::PluginHost;

struct Case {
  AbiVersion built;
  std::uint16_t needed;
  AbiVersion host;
  std::string_view refusal;  // a part of it; empty: accepted
};

class VersionRule : public testing::TestWithParam<Case> {};

TEST_P(VersionRule, Holds) {
  const Case& one = GetParam();
  const auto refusal = plugin::refuse_version(one.built, one.needed, one.host);
  if (one.refusal.empty()) {
    EXPECT_EQ(refusal, std::nullopt);
  } else {
    ASSERT_TRUE(refusal);
    EXPECT_NE(refusal->find(one.refusal), std::string::npos) << *refusal;
    EXPECT_NE(refusal->find(plugin::to_string(one.built)), std::string::npos) << *refusal;
  }
}

INSTANTIATE_TEST_SUITE_P(Table, VersionRule,
                         testing::Values(Case{{0, 1}, 1, {0, 1}, ""}, Case{{0, 1}, 0, {0, 1}, ""},
                                         Case{{0, 0}, 0, {0, 1}, "this host offers 0.1"},
                                         Case{{0, 2}, 0, {0, 1}, "this host offers 0.1"},
                                         Case{{1, 0}, 0, {0, 1}, "this host offers 0.1"},
                                         Case{{0, 1}, 1, {1, 0}, "this host offers 1.0"},
                                         Case{{2, 0}, 0, {1, 5}, "this host offers 1.5"},
                                         Case{{1, 0}, 0, {1, 0}, ""}, Case{{1, 0}, 0, {1, 5}, ""},
                                         Case{{1, 5}, 5, {1, 5}, ""}, Case{{1, 9}, 5, {1, 5}, ""},
                                         Case{{1, 9}, 0, {1, 0}, ""},
                                         Case{{1, 6}, 6, {1, 5}, "needs plugin ABI 1.6 or newer"},
                                         Case{{1, 3}, 4, {1, 5}, "was built with"},
                                         Case{{65535, 65535}, 65535, {65535, 65535}, ""}));

class Growth : public testing::Test {
 protected:
  // The library with a manifest as its own headers would have written it.
  void install(const std::string& id, AbiVersion built) {
    std::filesystem::copy_file(zoo + "/" + id + ".so", directory / (id + ".so"));
    write_file(directory / (id + ".manifest.json"),
               R"({"id": ")" + id + R"(", "version": "0.0.1", "library": ")" + id + R"(.so", "platform": ")" +
                   plugin::this_platform() + R"(", "abi": {"major": )" + std::to_string(built.major) +
                   R"(, "minor": )" + std::to_string(built.minor) +
                   R"(}, "interfaces": ["rmgr.execution-provider/1"]})");
  }
  [[nodiscard]] plugin::HostOptions host_of(AbiVersion version) const {
    plugin::HostOptions chosen = options();
    chosen.directories = {directory.str()};
    chosen.abi = version;
    return chosen;
  }
  // Why a host of that version refuses it; empty if it runs.
  std::string refusal(const std::string& id, AbiVersion host_version) {
    PluginHost host(host_of(host_version), log);
    const auto added = host.add_instance(spec(id));
    if (!added) return added.error().message;
    auto running = call();
    const auto probe = host.provider(domain::InstanceName(id + "-1"))->probe(running, policy("p"));
    EXPECT_TRUE(probe && probe->note == "grown") << id;
    return "";
  }
  RecordingLog log;
  TempDirectory directory;
};

TEST_F(Growth, BeforeOneTheMinorMustBeTheHosts) {
  install("v0-older", {0, 0});
  install("v0-newer", {0, 2});
  install("v1-older", {1, 0});
  EXPECT_NE(
      refusal("v0-older", {0, 1}).find("built for plugin ABI 0.0 and this host offers 0.1; install a build"),
      std::string::npos);
  EXPECT_NE(
      refusal("v0-newer", {0, 1}).find("built for plugin ABI 0.2 and this host offers 0.1; install a build"),
      std::string::npos);
  EXPECT_NE(refusal("v1-older", {0, 1}).find("built for plugin ABI 1.0 and this host offers 0.1"),
            std::string::npos);
  EXPECT_NE(refusal("v0-newer", {1, 2}).find("built for plugin ABI 0.2 and this host offers 1.2"),
            std::string::npos);
  EXPECT_EQ(refusal("v0-newer", {0, 2}), "");
}

TEST_F(Growth, TheEntryDecidesWhateverTheManifestSays) {
  install("v0-older", {0, 1});
  install("v0-newer", {0, 1});
  EXPECT_NE(refusal("v0-older", {0, 1}).find("built for plugin ABI 0.0"), std::string::npos);
  EXPECT_NE(refusal("v0-newer", {0, 1}).find("built for plugin ABI 0.2"), std::string::npos);
}

TEST_F(Growth, AnOlderMinorLoadsAndWhatItsStructsLackIsAbsent) {
  install("v1-older", {1, 0});
  install("v1-too-short", {1, 0});
  EXPECT_EQ(refusal("v1-older", {1, 2}), "");
  EXPECT_NE(refusal("v1-too-short", {1, 2}).find("does not offer the operation remove"), std::string::npos);
}

TEST_F(Growth, ANewerMinorLoadsIfItNeedsNoNewerHost) {
  install("v1-newer", {1, 9});
  install("v1-needs-newer", {1, 9});
  EXPECT_EQ(refusal("v1-newer", {1, 2}), "");
  EXPECT_NE(refusal("v1-newer", {1, 0}).find("needs plugin ABI 1.1 or newer and this host offers 1.0"),
            std::string::npos);
  EXPECT_NE(refusal("v1-needs-newer", {1, 2}).find("needs plugin ABI 1.9 or newer and this host offers 1.2"),
            std::string::npos);
  EXPECT_EQ(refusal("v1-needs-newer", {1, 9}), "");
}

TEST(Manifest, VersionsAreSmallNumbers) {
  const auto with = [](const std::string& major) {
    return plugin::parse_manifest(
        R"({"id": "a", "version": "1.0.0", "library": "a.so", "platform": "x", "abi":
      {"major": )" +
        major + R"(, "minor": 0}, "interfaces": ["rmgr.gateway/1"]})");
  };
  EXPECT_TRUE(with("65535"));
  EXPECT_FALSE(with("65536"));
  EXPECT_FALSE(with("-1"));
}

}  // namespace
