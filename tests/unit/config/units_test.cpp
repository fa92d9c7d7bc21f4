#include "config/units.hpp"

#include <gtest/gtest.h>

#include "config/node.hpp"
#include "config/problems.hpp"
#include "config/secrets.hpp"

namespace agent::config {
namespace {

using domain::Millis;

TEST(Units, Durations) {
  EXPECT_EQ(parse_duration("500ms"), Millis{500});
  EXPECT_EQ(parse_duration("60s"), Millis{60'000});
  EXPECT_EQ(parse_duration("5m"), Millis{300'000});
  EXPECT_EQ(parse_duration("6h"), Millis{21'600'000});
  EXPECT_EQ(parse_duration("30d"), Millis{2'592'000'000});
  EXPECT_EQ(parse_duration("0"), Millis{0});
  for (const char* wrong :
       {"", "5", "-5s", "5 s", "5S", "s", "1.5s", "05s", "99999999999999999999s", "9223372036854775807d"}) {
    EXPECT_FALSE(parse_duration(wrong)) << wrong;
  }
  for (const char* same : {"500ms", "60001ms", "59s", "90m", "6h", "30d", "0"}) {
    EXPECT_EQ(format_duration(*parse_duration(same)), same);
  }
}

TEST(Units, Sizes) {
  EXPECT_EQ(parse_size("0"), 0);
  EXPECT_EQ(parse_size("1KiB"), 1024);
  EXPECT_EQ(parse_size("256MiB"), 268'435'456);
  EXPECT_EQ(parse_size("4GiB"), 4'294'967'296);
  EXPECT_EQ(parse_size("2TiB"), 2'199'023'255'552);
  for (const char* wrong : {"1", "1GB", "-1GiB", "1.5GiB", "GiB", "9223372036854775807TiB"}) {
    EXPECT_FALSE(parse_size(wrong)) << wrong;
  }
}

TEST(Units, Cores) {
  EXPECT_EQ(parse_cpu_milli("2"), 2000);
  EXPECT_EQ(parse_cpu_milli("0.5"), 500);
  EXPECT_EQ(parse_cpu_milli("1.125"), 1125);
  EXPECT_EQ(parse_cpu_milli("0"), 0);
  for (const char* wrong : {"", "-1", "-0.5", "1.", ".5", "1.1234", "1.x", "2000000"}) {
    EXPECT_FALSE(parse_cpu_milli(wrong)) << wrong;
  }
}

TEST(Units, Integers) {
  EXPECT_EQ(parse_integer("-12"), -12);
  EXPECT_EQ(parse_integer("9223372036854775807"), INT64_MAX);
  for (const char* wrong : {"", "-", "+1", "01", "1x", " 1", "9223372036854775808"}) {
    EXPECT_FALSE(parse_integer(wrong)) << wrong;
  }
}

TEST(Node, HowScalarsAreWritten) {
  const auto kind = [](const std::string& text, bool quoted = false) {
    Node node;
    node.kind = Node::Kind::scalar;
    node.text = text;
    node.quoted = quoted;
    return written_as(node);
  };
  for (const char* each : {"y", "Y", "yes", "NO", "on", "Off", "True", "FALSE", "010", "0x1f", "0o7", "1_000",
                           ".inf", "-.INF", ".nan", "+5"}) {
    EXPECT_EQ(kind(each), Written::trap) << each;
    EXPECT_EQ(kind(each, true), Written::text) << each;
  }
  for (const char* each : {"0", "-7", "42"})
    EXPECT_EQ(kind(each), Written::integer) << each;
  for (const char* each : {"1.5", "-0.25", "1e9", "2.5E-3"})
    EXPECT_EQ(kind(each), Written::real) << each;
  for (const char* each : {"2.330.0", "yes please", "1.", ".5", "-", "0xyz", "x64", "7b", "12:30"}) {
    EXPECT_EQ(kind(each), Written::text) << each;
  }
  EXPECT_EQ(kind("true"), Written::boolean);
}

TEST(Problems, Suggestions) {
  EXPECT_EQ(suggestion("capcity", {"capacity", "state"}), " Did you mean `capacity`?");
  EXPECT_EQ(suggestion("sattes", {"capacity", "state"}), " Did you mean `state`?");
  EXPECT_EQ(suggestion("something", {"capacity", "state"}), "");
  EXPECT_EQ(suggestion(std::string(100'000, 'x'), {"x"}), "");
}

TEST(Secrets, LinesAreShownWithoutThem) {
  EXPECT_EQ(shown_line("    token: hunter2"), "    token: [redacted]");
  EXPECT_EQ(shown_line("{\"client_secret\": \"hunter2\"}"), "{\"client_secret\": [redacted]");
  EXPECT_EQ(shown_line("    token: file:/etc/token  # here"), "    token: file:/etc/token  # here");
  EXPECT_EQ(shown_line("    token_file: /etc/token"), "    token_file: /etc/token");
  EXPECT_EQ(shown_line("  name: ghp_0123456789"), "  name: [redacted]");
}

}  // namespace
}  // namespace agent::config
