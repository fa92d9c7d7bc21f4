#include "config/units.hpp"

#include <array>
#include <charconv>
#include <limits>
#include <span>
#include <utility>

namespace agent::config {
namespace {

using Unit = std::pair<std::string_view, std::int64_t>;
constexpr std::array<Unit, 5> kDurations{Unit{"ms", 1}, Unit{"s", 1000}, Unit{"m", 60'000},
                                         Unit{"h", 3'600'000}, Unit{"d", 86'400'000}};
constexpr std::array<Unit, 4> kSizes{Unit{"KiB", 1LL << 10}, Unit{"MiB", 1LL << 20}, Unit{"GiB", 1LL << 30},
                                     Unit{"TiB", 1LL << 40}};

std::optional<std::int64_t> parse_with_unit(std::string_view text, std::span<const Unit> units) {
  const std::size_t digits = text.find_first_not_of("0123456789");
  const auto count = parse_integer(text.substr(0, digits));
  if (!count) return std::nullopt;
  if (digits == std::string_view::npos) return *count == 0 ? count : std::nullopt;
  for (const auto& [unit, factor] : units) {
    if (text.substr(digits) != unit) continue;
    if (*count > std::numeric_limits<std::int64_t>::max() / factor) return std::nullopt;
    return *count * factor;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || (digits.size() > 1 && digits[0] == '0')) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<domain::Millis> parse_duration(std::string_view text) {
  const auto millis = parse_with_unit(text, kDurations);
  return millis ? std::optional(domain::Millis{*millis}) : std::nullopt;
}

std::string format_duration(domain::Millis value) {
  if (value.count() == 0) return "0";
  for (auto unit = kDurations.rbegin(); unit != kDurations.rend(); ++unit) {
    if (value.count() % unit->second == 0) {
      return std::to_string(value.count() / unit->second) + std::string(unit->first);
    }
  }
  return std::to_string(value.count()) + "ms";
}

std::optional<std::int64_t> parse_size(std::string_view text) { return parse_with_unit(text, kSizes); }

std::optional<std::int64_t> parse_cpu_milli(std::string_view text) {
  const std::size_t point = text.find('.');
  const auto whole = parse_integer(text.substr(0, point));
  if (!whole || *whole < 0 || *whole > 100'000 || text.starts_with('-')) return std::nullopt;
  std::int64_t milli = *whole * 1000;
  if (point == std::string_view::npos) return milli;
  const std::string_view fraction = text.substr(point + 1);
  if (fraction.empty() || fraction.size() > 3) return std::nullopt;
  std::int64_t weight = 100;
  for (const char c : fraction) {
    if (c < '0' || c > '9') return std::nullopt;
    milli += (c - '0') * weight;
    weight /= 10;
  }
  return milli;
}

}  // namespace agent::config
