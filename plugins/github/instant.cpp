#include "github/instant.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <string>

#include "support/http/url.hpp"

namespace plugins::github {
namespace {

constexpr std::int64_t kUnnoticed = 3'000;  // a Date has whole seconds and was on its way
constexpr std::int64_t kWorthTelling = 60'000;

// Exactly `digits` digits at the beginning, which are taken away.
std::optional<int> take(std::string_view& text, std::size_t digits) {
  int value = 0;
  if (text.size() < digits) return std::nullopt;
  for (const char c : text.substr(0, digits)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, std::string_view any_of_these) {
  if (text.empty() || any_of_these.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// Seconds east of UTC.
std::optional<std::int64_t> take_zone(std::string_view text) {
  if (text == "Z" || text == " UTC" || text == "UTC") return 0;
  (void)take(text, " ");
  const bool west = text.starts_with('-');
  if (!take(text, "+-")) return std::nullopt;
  const auto hours = take(text, 2);
  (void)take(text, ":");
  const auto minutes = take(text, 2);
  if (!hours || !minutes || *hours > 23 || *minutes > 59 || !text.empty()) return std::nullopt;
  return (west ? -1 : 1) * (*hours * 3600 + *minutes * 60);
}

}  // namespace

std::optional<std::int64_t> parse_instant(std::string_view text) {
  constexpr std::array<std::string_view, 5> separators{"-", "-", "T ", ":", ":"};
  constexpr std::array<std::size_t, 6> widths{4, 2, 2, 2, 2, 2};
  std::array<int, 6> parts{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto part = take(text, widths[i]);
    if (!part || (i < separators.size() && !take(text, separators[i]))) return std::nullopt;
    parts[i] = *part;
  }
  if (take(text, ".")) {
    while (take(text, "0123456789")) {
    }
  }
  const auto zone = take_zone(text);
  if (!zone || parts[0] < 1970 || parts[1] < 1 || parts[1] > 12 || parts[2] < 1 || parts[2] > 31 ||
      parts[3] > 23 || parts[4] > 59 || parts[5] > 60)
    return std::nullopt;
  std::tm time{};
  time.tm_year = parts[0] - 1900;
  time.tm_mon = parts[1] - 1;
  time.tm_mday = parts[2];
  time.tm_hour = parts[3];
  time.tm_min = parts[4];
  time.tm_sec = parts[5];
  return static_cast<std::int64_t>(::timegm(&time)) - *zone;
}

void ServerClock::learn(const http::Response& response) {
  const auto date = http::parse_date(response.header("date").value_or(""));
  if (!date) return;
  std::int64_t ahead = *date * 1000 - host_.clock().wall().count();
  if (std::llabs(ahead) <= kUnnoticed) ahead = 0;
  const auto before = ahead_ms_.exchange(ahead);
  if (std::llabs(ahead) <= kWorthTelling || std::llabs(before) > kWorthTelling) return;
  host_.log().warning("This machine's clock is " + std::to_string(std::llabs(ahead) / 1000) + " seconds " +
                      (ahead > 0 ? "behind" : "ahead of") +
                      " that of GitHub; it is allowed for, but set the clock.");
}

}  // namespace plugins::github
