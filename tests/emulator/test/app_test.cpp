// What the emulated App believes and hands out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "github/jwt.hpp"
#include "support/rsa_key.hpp"
#include "test/support.hpp"
#include "wire/text.hpp"

namespace emulator::testing {
namespace {

using plugins::github::Claims;
using plugins::github::SigningKey;
using ::testing::HasSubstr;

class App : public ::testing::Test {
 protected:
  App() : key(testkit::make_rsa_key()), signer(key.pkcs8) {
    emulator->change_app({.id = 42,
                          .client_id = "Iv1.e",
                          .public_key = key.public_key,
                          .installations = {{11, "o"}, {12, "p"}}});
  }
  [[nodiscard]] Claims claims(std::int64_t from = -60, std::int64_t until = 480) {
    const std::int64_t now = wall_clock_ms() / 1000;
    return {"Iv1.e", now + from, now + until, "id-" + std::to_string(++ids)};
  }
  [[nodiscard]] ApiReply ask(const Claims& claim, const std::string& path = "/app",
                             const std::string& method = "GET") const {
    return with("Bearer " + std::string(signer.sign(claim).view()), path, method);
  }
  [[nodiscard]] ApiReply with(const std::string& authorization, const std::string& path,
                              const std::string& method = "GET") const {
    return emulator->call(method, "/api/v3" + path, "", {{"Authorization", authorization}});
  }
  [[nodiscard]] std::string token(std::int64_t installation) {
    const auto path = "/app/installations/" + std::to_string(installation) + "/access_tokens";
    return nlohmann::json::parse(ask(claims(), path, "POST").body).at("token").get<std::string>();
  }

  EmulatorProcess emulator{one_repository()};
  testkit::KeyPair key;
  SigningKey signer;
  int ids = 0;
};

TEST_F(App, BelievesAProofThatIsSignedFreshAndNewAlone) {
  EXPECT_EQ(ask(claims()).status, 200);
  EXPECT_THAT(ask(claims(30)).body, HasSubstr("'iat'"));
  EXPECT_THAT(ask(claims(-600, -1)).body, HasSubstr("'exp'"));
  EXPECT_THAT(ask(claims(-60, 700)).body, HasSubstr("too far"));
  const Claims once = claims();
  EXPECT_EQ(ask(once).status, 200);
  EXPECT_EQ(ask(once).status, 401);
  Claims stranger = claims();
  stranger.issuer = "Iv1.other";
  EXPECT_EQ(ask(stranger).status, 404);
  const SigningKey other(testkit::make_rsa_key().pkcs8);
  EXPECT_EQ(with("Bearer " + std::string(other.sign(claims()).view()), "/app").status, 401);
  EXPECT_EQ(with("Bearer " + emulator.token(), "/app").status, 401);
  emulator->change_app({.revoked = true});
  EXPECT_EQ(ask(claims()).status, 401);
}

TEST_F(App, FollowsItsOwnClock) {
  emulator->change_settings({.clock_offset_ms = 600'000});
  EXPECT_EQ(ask(claims()).status, 401);
  EXPECT_EQ(ask(claims(540, 1'000)).status, 200);
}

TEST_F(App, HandsOutTokensThatAreGoodForOneAccount) {
  EXPECT_EQ(nlohmann::json::parse(ask(claims(), "/app/installations").body).size(), 2U);
  EXPECT_EQ(nlohmann::json::parse(ask(claims(), "/repos/o/r/installation").body).at("id"), 11);
  EXPECT_EQ(nlohmann::json::parse(ask(claims(), "/orgs/p/installation").body).at("id"), 12);
  EXPECT_EQ(ask(claims(), "/orgs/q/installation").status, 404);
  EXPECT_EQ(ask(claims(), "/app/installations/13/access_tokens", "POST").status, 404);
  const std::string mine = "Bearer " + token(11);
  EXPECT_EQ(with(mine, "/repos/o/r/actions/runners").status, 200);
  EXPECT_EQ(with("Bearer " + token(12), "/repos/o/r/actions/runners").status, 404);
  EXPECT_EQ(with(mine, "/app").status, 401);
  emulator->change_app({.suspend = 11});
  EXPECT_EQ(with(mine, "/repos/o/r/actions/runners").status, 403);
  EXPECT_EQ(ask(claims(), "/app/installations/11/access_tokens", "POST").status, 403);
  emulator->change_app({.resume = 11});
  EXPECT_EQ(with(mine, "/repos/o/r/actions/runners").status, 200);
  emulator->change_app({.expire_tokens = true});
  EXPECT_EQ(with(mine, "/repos/o/r/actions/runners").status, 401);
}

TEST_F(App, APersonalTokenTellsItsEnd) {
  emulator->change_settings({.token_expires_at_ms = 4'000'000'000'000});
  const auto good = emulator->api("GET", "/repos/o/r");
  EXPECT_EQ(good.headers.at("github-authentication-token-expiration"), "2096-10-02 07:06:40 UTC");
  emulator->change_settings({.token_expires_at_ms = 1'000});
  EXPECT_EQ(emulator->api("GET", "/repos/o/r").status, 401);
}

}  // namespace
}  // namespace emulator::testing
