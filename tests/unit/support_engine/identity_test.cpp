#include <gtest/gtest.h>

#include "support/engine/identity.hpp"
#include "support/engine/resolution.hpp"

namespace plugins::engine {
namespace {

const std::string digest = "sha256:" + std::string(64, 'a');

TEST(EngineImages, NamesAreSoundOrRefused) {
  for (const std::string& good :
       {std::string("ubuntu"), std::string("ubuntu:22.04"), std::string("localhost:5000/a/b_c:1.0-x"),
        "ghcr.io/o/r@" + digest, "ghcr.io/o/r:1@" + digest, digest})
    EXPECT_TRUE(sound_reference(good)) << good;
  for (const std::string& bad :
       {std::string(""), std::string("a b"), std::string("/a"), std::string("a/"), std::string("a//b"),
        std::string("a/../b"), std::string("a?b=c"), std::string("a\n"), std::string("-a"),
        std::string("a@sha256:12"), std::string("a@md5:") + std::string(64, 'a'), std::string("sha256:12"),
        std::string(600, 'a'), "@" + digest, std::string("a:")})
    EXPECT_FALSE(sound_reference(bad)) << bad;
}

TEST(EngineImages, OnlyADigestPins) {
  EXPECT_TRUE(is_pinned("ghcr.io/o/r@" + digest));
  EXPECT_TRUE(is_pinned(digest));
  EXPECT_FALSE(is_pinned("ghcr.io/o/r:latest"));
  EXPECT_FALSE(is_pinned("r@" + digest.substr(0, 70)));
  EXPECT_FALSE(is_pinned("r@" + digest + "0"));
}

TEST(EngineImages, TheRegistryIsInTheNameOrUnderstood) {
  EXPECT_EQ(registry_of("ubuntu"), "docker.io");
  EXPECT_EQ(registry_of("library/ubuntu:1"), "docker.io");
  EXPECT_EQ(registry_of("index.docker.io/a/b"), "docker.io");
  EXPECT_EQ(registry_of("ghcr.io/a/b"), "ghcr.io");
  EXPECT_EQ(registry_of("host:5000/b"), "host:5000");
  EXPECT_EQ(registry_of("localhost/b"), "localhost");
}

// Engines leave out what goes without saying, each something else.
TEST(EngineImages, ADigestIsFoundUnderEitherSpelling) {
  const std::string docker = "ubuntu@" + digest;
  const std::string podman = "docker.io/library/ubuntu@" + digest;
  for (const char* name : {"ubuntu", "ubuntu:22.04", "docker.io/library/ubuntu:22.04", "library/ubuntu"}) {
    EXPECT_EQ(digest_for(name, {"ghcr.io/x@" + digest, docker}), docker) << name;
    EXPECT_EQ(digest_for(name, {podman}), podman) << name;
  }
  EXPECT_EQ(digest_for("ghcr.io/other", {docker, podman}), std::nullopt);
  EXPECT_EQ(digest_for("ubuntu", {"ubuntu@sha256:short"}), std::nullopt);
}

TEST(EngineIdentity, AnEnvironmentIsReadBackAndNothingElseIs) {
  const auto container = parse_environment("podman:0123abcd");
  ASSERT_TRUE(container);
  EXPECT_EQ(container->engine, "podman");
  EXPECT_FALSE(container->network);
  EXPECT_EQ(text_of(*container), "podman:0123abcd");
  const auto network = parse_environment("docker:network/ff");
  ASSERT_TRUE(network);
  EXPECT_TRUE(network->network);
  EXPECT_EQ(text_of(*network), "docker:network/ff");
  for (const char* wrong :
       {"", "podman", "podman:", "runc:ff", "docker:../x", "docker:FF", "docker:network/"})
    EXPECT_FALSE(parse_environment(wrong)) << wrong;
}

TEST(EngineIdentity, AnotherGenerationHostOrImageIsAnother) {
  rmgr::Allocation allocation;
  allocation.host = "h";
  allocation.attempt = "a";
  allocation.generation = "0123456789abcdef";
  allocation.image = digest;
  allocation.policy = "p";
  EXPECT_EQ(name_of(allocation), "rm-a-01234567");
  const auto labels = labels_of(allocation);
  EXPECT_TRUE(bears(labels, allocation));
  for (const auto& member : {&rmgr::Allocation::host, &rmgr::Allocation::attempt,
                             &rmgr::Allocation::generation, &rmgr::Allocation::image}) {
    rmgr::Allocation other = allocation;
    other.*member = "other";
    EXPECT_FALSE(bears(labels, other));
  }
  EXPECT_FALSE(bears({}, allocation));
}

}  // namespace
}  // namespace plugins::engine
