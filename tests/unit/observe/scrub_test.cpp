#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "observe/log.hpp"

namespace agent::observe {
namespace {

const std::string kClassic = "ghp_" + std::string("Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1Wx2");
const std::string kFine =
    "github_pat_11ABCDEFG0abcdefghijkl_MNOPQRSTUVWXYZ0123456789abcdefghijklmnopqrstuvwxyz0123456";
const std::string kJwt = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJ4In0.c2lnbmF0dXJl";
const std::string kOpaque = "q3Vd9Zk2Lw7Xr5Tb1Nc8Mh4Jf6Gs0Py3Ua9Ie7Ro2Wl";

struct Case {
  std::string name, in, out;
};

class ScrubTable : public ::testing::TestWithParam<Case> {};
TEST_P(ScrubTable, Replaces) {
  EXPECT_EQ(scrub(GetParam().in), GetParam().out);
  EXPECT_EQ(scrub(GetParam().out), GetParam().out);
}

INSTANTIATE_TEST_SUITE_P(
    Secrets, ScrubTable,
    ::testing::Values(
        Case{"classic", "token was " + kClassic + ", refused", "token was [redacted], refused"},
        Case{"oauth", "gho_abcdefgh", "[redacted]"}, Case{"user", "x=ghu_abcdefgh", "x=[redacted]"},
        Case{"server", "ghs_abcdefgh-x", "[redacted]-x"},
        Case{"refresh", "\"ghr_abcdefgh\"", "\"[redacted]\""},
        Case{"fine_grained", kFine + "!", "[redacted]!"},
        Case{"jwt", "jwt " + kJwt + " end", "jwt [redacted] end"},
        Case{"bearer", "Bearer abc", "Bearer [redacted]"},
        Case{"bearer_any_characters", "bearer a!b$c, next", "bearer [redacted], next"},
        Case{"basic", "Basic YTpi", "Basic [redacted]"},
        Case{"token_scheme", "token 0123456789", "token [redacted]"},
        Case{"remote_auth", "RemoteAuth xyz", "RemoteAuth [redacted]"},
        Case{"header", "Authorization: Digest a=1, b=2", "Authorization: [redacted]"},
        Case{"header_folded", "proxy-authorization:x y\nnext: 1", "proxy-authorization:[redacted]\\nnext: 1"},
        Case{"header_json", R"({"Authorization":"Bearer a b","x":1})",
             R"({"Authorization":"[redacted]","x":1})"},
        Case{"userinfo", "https://user:pass@host/path", "https://[redacted]@host/path"},
        Case{"userinfo_alone", "https://key@host", "https://[redacted]@host"},
        Case{"userinfo_slash", "http://u:p/a?s#s@proxy:3128/x", "http://[redacted]@proxy:3128/x"},
        Case{"port_and_at", "https://host:8443/actions/checkout@v4", "https://host:8443/actions/checkout@v4"},
        Case{"query", "GET https://h/p?sig=abc&se=1#frag done",
             "GET https://h/p?sig=[redacted]&se=[redacted]#[redacted] done"},
        Case{"bare_query", "https://h/p?abc", "https://h/p?[redacted]"},
        Case{"query_json", R"("u":"https:\/\/a:b@h\/p?x=1\u0026y=2")",
             R"("u":"https:\/\/[redacted]@h\/p?x=[redacted]\u0026y=[redacted]")"},
        Case{"pem", "a -----BEGIN RSA PRIVATE KEY-----\nMIIE\nab\n-----END RSA PRIVATE KEY----- b",
             "a [redacted] b"},
        Case{"pem_json", R"("k":"-----BEGIN KEY-----\nMIIE\n-----END KEY-----\n","x")",
             R"("k":"[redacted]\n","x")"},
        Case{"pem_cut", "a -----BEGIN EC PRIVATE KEY-----\nMIIE", "a [redacted]"},
        Case{"assignment", "password=hun!ter2 x", "password=[redacted] x"},
        Case{"assignment_quoted", "client_secret='a b' x", "client_secret='[redacted]' x"},
        Case{"json_key", R"({"password": "a\"b c", "x": 1})", R"({"password": "[redacted]", "x": 1})"},
        Case{"json_key_escaped", R"(\"token\":\"hunter\",\"x\")", R"(\"token\":\"[redacted]\",\"x\")"},
        Case{"opaque", "k " + kOpaque + ".", "k [redacted]"},
        Case{"hex64", "sum " + std::string(64, 'a'), "sum [redacted]"},
        Case{"wrapped_token", "ghp_Ab1Cd2Ef3G\nh4Ij5Kl6Mn7Op\nend of it", "[redacted]\\nend of it"},
        Case{"wrapped_base64", kOpaque + "\n" + kOpaque + "\nQUJD==\n\"x", "[redacted]\\n\"x"},
        Case{"after_newline", "a\n" + kClassic, "a\\n[redacted]"},
        Case{"after_backslash", "C:\\" + kClassic, "C:\\[redacted]"},
        Case{"inside_word", "xgho_abcdefgh/y", "x[redacted]/y"}),
    [](const auto& each) { return each.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Escapes, ScrubTable,
    ::testing::Values(Case{"controls", std::string("a\tb\r\n\x1b[0m\x7f") + '\0',
                           "a\\tb\\r\\n\\x1b[0m\\x7f\\x00"},
                      Case{"invalid_utf8", "a\xff\xc3(\xe2\x82", "a\\xff\\xc3(\\xe2\\x82"},
                      Case{"overlong", "\xc0\xaf\xe0\x80\xaf", "\\xc0\\xaf\\xe0\\x80\\xaf"},
                      Case{"surrogate", "\xed\xa0\x80", "\\xed\\xa0\\x80"},
                      Case{"direction",
                           "a\xe2\x80\xae"
                           "b",
                           "a\\u202eb"},
                      Case{"utf8_stays", "Grüße, 世界 🙂", "Grüße, 世界 🙂"}),
    [](const auto& each) { return each.param.name; });

class Survives : public ::testing::TestWithParam<std::string> {};
TEST_P(Survives, Unchanged) { EXPECT_EQ(scrub(GetParam()), GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    OursAndOrdinary, Survives,
    ::testing::Values("7b0c2f64-9d3e-4a51-8f6b-2c1d0e9f8a7b",
                      "runner-manager-7b0c2f64-9d3e-4a51-8f6b-2c1d0e9f8a7b",
                      "0123456789abcdef0123456789abcdef",
                      "/var/lib/runner-manager/packages/0123456789abcdef/bin/Runner.Listener",
                      "/srv/runners/web/7b0c2f649d3e/_work/repository/repository/.git/objects",
                      "actions-runner-linux-x64-2.330.0-noruntime-noexternals.tar.gz",
                      "terminated_after_registration_timeout_and_something_more_than_forty",
                      "the token was refused; basic checks failed: tokens are read from a file",
                      "token: file:/etc/runner-manager/token", "token=env:GITHUB_TOKEN",
                      "https://api.github.com/repos/owner/repository/actions/runners/downloads",
                      "isolation_runtime_operation_failed", "owner/repo", "", "[redacted]", "-----",
                      "=== a ===", "/tmp/rmgr-test.XyZ12a/state/journal.db-wal/with/a/long/path/behind/it",
                      "org.freedesktop.systemd1.Service.runner-manager.example.internal"));

TEST(Scrub, HoldsSecretIsAboutCertainty) {
  EXPECT_TRUE(holds_secret(kClassic));
  EXPECT_TRUE(holds_secret("x " + kJwt));
  EXPECT_TRUE(holds_secret("http://user:pw@proxy:3128"));
  EXPECT_TRUE(holds_secret("-----BEGIN RSA PRIVATE KEY-----"));
  EXPECT_FALSE(holds_secret(std::string(64, 'a')));
  EXPECT_FALSE(holds_secret("https://host/p?x=1"));
  EXPECT_TRUE(holds_secret("https://host/p?x=1&access_token=abc"));
  EXPECT_TRUE(holds_secret("ftp://host/p?Password=abc"));
  EXPECT_FALSE(holds_secret("https://host/p?token="));
  EXPECT_FALSE(holds_secret("https://host/p?tokens_per_page=9"));
  EXPECT_FALSE(holds_secret("ssh://git@host/x"));
  EXPECT_FALSE(holds_secret("file:/etc/token"));
  EXPECT_FALSE(holds_secret("ghp_"));
}

// Random texts made of the pieces that the rules look at: a second pass changes nothing, planted needles
// never survive, and nothing unprintable comes out.
TEST(Scrub, RandomTexts) {
  const std::vector<std::string> pieces{"ghp_",
                                        "github_pat_",
                                        "eyJ",
                                        ".",
                                        "-----BEGIN ",
                                        "-----END ",
                                        "-----",
                                        "Bearer ",
                                        "basic ",
                                        "token",
                                        "=",
                                        ":",
                                        "://",
                                        ":\\/\\/",
                                        "@",
                                        "?",
                                        "&",
                                        "#",
                                        "\\u0026",
                                        "\\",
                                        "\"",
                                        "'",
                                        "\\\"",
                                        "\n",
                                        "\r\n",
                                        "\t",
                                        " ",
                                        "[redacted]",
                                        "Authorization",
                                        "password",
                                        "file:",
                                        "/",
                                        "a",
                                        "Zz9",
                                        "0123456789abcdef",
                                        kOpaque,
                                        "\xff",
                                        "\xe2\x82\xac",
                                        ",",
                                        "{",
                                        "}",
                                        "\\x1b",
                                        "\\n",
                                        "secret\":\"",
                                        "x=",
                                        "<",
                                        ">"};
  std::mt19937 random(4711);
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    const auto count = random() % 14;
    for (std::size_t i = 0; i < count; ++i)
      text += pieces[random() % pieces.size()];
    const std::string once = scrub(text);
    ASSERT_EQ(scrub(once), once) << "round " << round << ": " << text;
    for (const char c : once)
      ASSERT_GE(static_cast<unsigned char>(c), 0x20) << text;
    text.insert(random() % (text.size() + 1), "ghp_Needle1Needle2Needle3Needle4Needle5xx");
    ASSERT_EQ(scrub(text).find("Needle"), std::string::npos) << "round " << round << ": " << text;
  }
}

TEST(Scrub, RandomBytes) {
  std::mt19937 random(1);
  for (int round = 0; round < 5'000; ++round) {
    std::string text(random() % 200, ' ');
    for (char& c : text)
      c = static_cast<char>(random());
    const std::string once = scrub(text);
    ASSERT_EQ(scrub(once), once);
  }
}

// Work grows with the text, not with its square: texts on which a careless rule looks ahead again and again.
// Compared by the ratio of two sizes, with much room; a quadratic rule would give about 64.
TEST(Scrub, IsLinear) {
  for (const std::string piece :
       {"://", "?a&", "://?a ", "token=file:", "\"token\":", "a=", "Bearer ", "\\\\", "-----", "g", "eyJ.",
        "ghp_ab\n", "://u:p/", "x\n", "'", "-----BEGI"}) {
    const auto cost = [&](std::size_t bytes) {
      std::string text;
      while (text.size() < bytes)
        text += piece;
      auto best = std::chrono::nanoseconds::max();
      for (int i = 0; i < 3; ++i) {
        const auto start = std::chrono::steady_clock::now();
        EXPECT_LE(scrub(text).size(), text.size() * 16);
        best = std::min(best, std::chrono::nanoseconds(std::chrono::steady_clock::now() - start));
      }
      return static_cast<double>(best.count());
    };
    const double small = cost(16'384);
    EXPECT_LT(cost(8 * 16'384) / small, 40.0) << piece;
  }
}

}  // namespace
}  // namespace agent::observe
