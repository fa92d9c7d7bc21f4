// What an App's credential is made of: keys, signed tokens, settings, points in time, words.
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "github/credential.hpp"
#include "github/fixed_token.hpp"
#include "github/instant.hpp"
#include "github/jwt.hpp"
#include "github/parse.hpp"
#include "github/settings.hpp"
#include "support/rsa_key.hpp"
#include "unit/plugin_github/fakes.hpp"

namespace plugins::github {
namespace {

using plugin_test::error_of;
using plugin_test::FakeCall;
using plugin_test::FakeHost;
using rmgr::Status;

const testkit::KeyPair& key() {
  static const testkit::KeyPair pair = testkit::make_rsa_key();
  return pair;
}

std::string decoded(std::string_view text) {
  constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string bytes;
  unsigned bits = 0;
  int held = 0;
  for (const char c : text) {
    bits = (bits << 6U) | static_cast<unsigned>(alphabet.find(c));
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>((bits >> static_cast<unsigned>(held)) & 255U);
  }
  return bytes;
}

TEST(Jwt, IsSignedWithEitherFormOfTheKey) {
  for (const std::string& pem : {key().pkcs1, key().pkcs8, "leading words\n" + key().pkcs8}) {
    const auto token = SigningKey(pem).sign({"Iv1.abc", 1000, 1540, "one"});
    const std::string text(token.view());
    const auto first = text.find('.');
    const auto second = text.rfind('.');
    EXPECT_EQ(decoded(text.substr(0, first)), R"({"alg":"RS256","typ":"JWT"})");
    EXPECT_EQ(decoded(text.substr(first + 1, second - first - 1)),
              R"({"iat":1000,"exp":1540,"iss":"Iv1.abc","jti":"one"})");
    EXPECT_TRUE(
        testkit::verifies(key().public_key, text.substr(0, second), decoded(text.substr(second + 1))));
    EXPECT_FALSE(
        testkit::verifies(key().public_key, text.substr(1, second), decoded(text.substr(second + 1))));
  }
}

TEST(Jwt, ClaimsAreBackdatedShortLivedAndUnique) {
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) {
    const auto claims = claims_at("1", 1'700'000'000);
    EXPECT_EQ(claims.issued_at, 1'700'000'000 - 60);
    EXPECT_EQ(claims.expires_at, claims.issued_at + 540);
    EXPECT_EQ(claims.id.size(), 32U);
    ids.insert(claims.id);
  }
  EXPECT_EQ(ids.size(), 1000U);
}

TEST(Jwt, Base64IsOfTheUrlKindWithoutPadding) {
  const std::pair<std::string_view, const char*> table[] = {
      {"", ""}, {"f", "Zg"}, {"fo", "Zm8"}, {"foo", "Zm9v"}, {"foob", "Zm9vYg"}, {"\xfb\xff\xfe", "-__-"}};
  for (const auto& [bytes, text] : table)
    EXPECT_EQ(base64url(bytes), text);
}

TEST(Jwt, AKeyThatCannotBeUsedIsRefusedWithoutAByteOfIt) {
  std::string damaged = key().pkcs8;
  damaged.replace(damaged.size() / 2, 8, "AAAAAAAA");
  std::string cut = key().pkcs1.substr(0, key().pkcs1.size() / 2);
  const std::pair<std::string, const char*> table[] = {
      {"", "is not in PEM form"},
      {"MIIEvQIBADANneedle", "is not in PEM form"},
      {key().public_key, "is not there"},
      {"-----BEGIN CERTIFICATE-----\nneedle\n-----END CERTIFICATE-----", "is not there"},
      {"-----BEGIN PRIVATE KEY-----\nneedle\n-----END PRIVATE KEY-----", "is damaged"},
      {cut, "is damaged"},
      {cut + "\n-----END RSA PRIVATE KEY-----\n", "is damaged"},
      {key().encrypted, "is encrypted"},
      {testkit::make_ec_key(), "is not an RSA key"},
      {testkit::make_rsa_key(1024).pkcs8, "is shorter than 2048 bits"},
  };
  for (const auto& [pem, reason] : table) {
    const auto error = error_of([&pem = pem] { (void)SigningKey(pem); });
    const std::string message = error.what();
    EXPECT_EQ(error.status(), Status::invalid) << reason;
    EXPECT_NE(message.find(reason), std::string::npos) << message << " for " << reason;
    EXPECT_EQ(message.find("needle"), std::string::npos) << message;
    if (pem.size() > 200) {
      EXPECT_EQ(message.find(pem.substr(100, 16)), std::string::npos);
    }
  }
  EXPECT_NE(error_of([&] { (void)SigningKey(damaged).sign({"1", 1, 2, "x"}); }).status(), Status::internal);
}

TEST(AppSettings, ExactlyOneCredentialOfAWholeForm) {
  const auto app =
      parse_settings(R"({"app":{"client_id":"Iv1.x","private_key":"file:/k","installation_id":7}})");
  ASSERT_TRUE(app.app);
  EXPECT_EQ(app.app->issuer, "Iv1.x");
  EXPECT_EQ(app.app->installation_id, 7);
  EXPECT_EQ(parse_settings(R"({"app":{"id":12,"private_key":"file:/k"}})").app->issuer, "12");
  const std::pair<const char*, const char*> table[] = {
      {"{}", "There is no credential; give token, the reference of a secret, or app."},
      {R"({"token":"env:T","app":{"id":1,"private_key":"file:/k"}})",
       "There are a token and an app; give one of the two."},
      {R"({"app":{"private_key":"file:/k"}})", "The app has neither client_id nor id; give one of them."},
      {R"({"app":{"id":1,"client_id":"x","private_key":"file:/k"}})",
       "The app has both id and client_id; give one of them."},
      {R"({"app":{"id":1}})", "The app has no private_key; give the reference of a PEM file."},
      {R"({"app":{"id":"1","private_key":"file:/k"}})", "The configuration does not fit its schema."},
      {R"({"app":[]})", "The app has neither client_id nor id; give one of them."},
  };
  for (const auto& [text, message] : table)
    EXPECT_STREQ(error_of([text = text] { parse_settings(text); }).what(), message) << text;
}

TEST(Instant, IsReadAsServersWriteIt) {
  const std::pair<const char*, std::optional<std::int64_t>> table[] = {
      {"1970-01-01T00:00:00Z", 0},
      {"2024-02-29T12:00:00Z", 1'709'208'000},
      {"2024-02-29T12:00:00.123Z", 1'709'208'000},
      {"2024-02-29 12:00:00 UTC", 1'709'208'000},
      {"2024-02-29 14:00:00 +0200", 1'709'208'000},
      {"2024-02-29T04:00:00-08:00", 1'709'208'000},
      {"", std::nullopt},
      {"2024-02-29", std::nullopt},
      {"2024-02-29T12:00:00", std::nullopt},
      {"2024-13-29T12:00:00Z", std::nullopt},
      {"2024-02-29T25:00:00Z", std::nullopt},
      {"2024-02-29T12:00:00Zx", std::nullopt},
      {"1969-12-31T23:59:59Z", std::nullopt},
      {"tomorrow", std::nullopt},
  };
  for (const auto& [text, seconds] : table)
    EXPECT_EQ(parse_instant(text), seconds) << text;
}

TEST(Instant, TheServersClockFollowsTheLastDate) {
  FakeHost host;
  host.set_wall(1'700'000'000'000);
  ServerClock clock(host.host());
  const auto learn = [&clock](const char* date) { clock.learn({401, {{"date", date}}, ""}); };
  EXPECT_EQ(clock.now().count(), 1'700'000'000'000);
  learn("Tue, 14 Nov 2023 22:13:22 GMT");  // two seconds: on its way
  EXPECT_EQ(clock.now().count(), 1'700'000'000'000);
  EXPECT_TRUE(host.log().empty());
  learn("Tue, 14 Nov 2023 22:23:20 GMT");
  EXPECT_EQ(clock.now().count(), 1'700'000'600'000);
  learn("Tue, 14 Nov 2023 22:03:20 GMT");
  EXPECT_EQ(clock.now().count(), 1'699'999'400'000);
  learn("nonsense");
  EXPECT_EQ(clock.now().count(), 1'699'999'400'000);
  ASSERT_EQ(host.log().size(), 1U) << "said once";
  EXPECT_NE(host.log()[0].find("600 seconds behind"), std::string::npos) << host.log()[0];
}

TEST(CredentialWords, EachStateHasAWordAndARemedy) {
  std::set<std::string> words;
  for (const auto state :
       {CredentialState::rejected, CredentialState::expired, CredentialState::unreadable,
        CredentialState::unusable, CredentialState::not_installed, CredentialState::suspended}) {
    for (const auto kind : {CredentialKind::token, CredentialKind::app}) {
      const auto error = credential_error(state, kind, "Something failed.");
      EXPECT_EQ(error.status(), Status::unauthorized);
      EXPECT_EQ(std::string(error.what()), "Credential " + std::string(to_string(state)) +
                                               ": Something failed. " + std::string(remedy(state, kind)));
      EXPECT_TRUE(remedy(state, kind).ends_with("."));
    }
    words.insert(std::string(to_string(state)));
  }
  EXPECT_EQ(words.size(), 6U);
}

TEST(FixedToken, AValueThatIsNoTokenIsNotSent) {
  FakeHost host;
  FakeCall call;
  Wire wire(host.host(), parse_settings(R"({"token":"env:T"})"));
  FixedToken token(wire);
  for (const char* bad :
       {"two words", "needle\nneedle", "needle\x7f", "ne\tedle", "-----BEGIN KEY-----\nneedle"}) {
    host.set_secret("env:T", bad);
    const auto error = error_of([&] { token.get(call.call(), "o/r"); });
    EXPECT_EQ(error.status(), Status::unauthorized);
    EXPECT_TRUE(std::string_view(error.what()).starts_with("Credential unusable: ")) << error.what();
    EXPECT_EQ(std::string_view(error.what()).find("needle"), std::string_view::npos);
  }
  host.set_secret("env:T", "ghp_fine");
  EXPECT_EQ(token.get(call.call(), "o/r").token.view(), "ghp_fine");
}

TEST(AppAnswers, AreReadStrictly) {
  EXPECT_EQ(parse_installation(R"({"id":7,"suspended_at":null})")->id, 7);
  EXPECT_FALSE(parse_installation(R"({"id":7})")->suspended);
  EXPECT_TRUE(parse_installation(R"({"id":7,"suspended_at":"2024-01-01T00:00:00Z"})")->suspended);
  for (const char* bad : {"", "[]", "{}", R"({"id":"7"})", R"({"id":0})", R"({"id":-1})"})
    EXPECT_FALSE(parse_installation(bad)) << bad;
  EXPECT_EQ(parse_access_token(R"({"token":"ghs_x","expires_at":"e"})")->token.view().reveal(), "ghs_x");
  for (const char* bad : {"", "[]", R"({"token":"ghs_x"})", R"({"token":3,"expires_at":"e"})",
                          R"({"token":"","expires_at":"e"})", R"({"token":"a\nb","expires_at":"e"})"})
    EXPECT_FALSE(parse_access_token(bad)) << bad;
}

}  // namespace
}  // namespace plugins::github
