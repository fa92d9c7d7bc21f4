#include "github/answer.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "github/parse.hpp"
#include "support/http/url.hpp"

namespace plugins::github {
namespace {

constexpr Millis kUnknownLimit{60'000};
constexpr std::int64_t kDay = 86'400;

std::optional<std::int64_t> number(const http::Response& response, std::string_view name) {
  const auto text = response.header(name);
  if (!text || text->empty()) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc{} || end != text->data() + text->size() || value < 0) return std::nullopt;
  return value;
}

Millis seconds(std::int64_t count) { return Millis{std::clamp<std::int64_t>(count, 1, kDay) * 1000}; }

Millis retry_after(const http::Response& response) {
  if (const auto wait = number(response, "retry-after")) return seconds(*wait);
  return Millis{0};
}

// How long a rate limit lasts, or nothing if the answer is no rate limit.
std::optional<Millis> rate_limit(const http::Response& response, std::string_view message, Millis wall) {
  if (response.status != 403 && response.status != 429) return std::nullopt;
  if (const auto wait = retry_after(response); wait > Millis{0}) return wait;
  if (number(response, "x-ratelimit-remaining") == 0) {
    const auto reset = number(response, "x-ratelimit-reset");
    if (!reset) return kUnknownLimit;
    // Against the server's own clock, since ours may be wrong.
    const auto date = http::parse_date(response.header("date").value_or(""));
    return seconds(*reset - date.value_or(wall.count() / 1000));
  }
  if (response.status == 429 || mentions(message, "rate limit") || mentions(message, "abuse detection")) {
    return kUnknownLimit;
  }
  return std::nullopt;
}

}  // namespace

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool mentions(std::string_view text, std::string_view words) {
  return std::search(text.begin(), text.end(), words.begin(), words.end(),
                     [](char a, char b) { return lower(a) == b; }) != text.end();
}

bool is_json(const http::Response& response) {
  auto type = response.header("content-type").value_or("");
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' '))
    type.remove_suffix(1);
  if (!type.empty() && type.size() <= 100 && mentions(type, "application/")) {
    return mentions(type.substr(type.find('/')), "/json") || mentions(type, "+json");
  }
  return false;
}

std::string tidy(std::string_view text) {
  std::string result(text.substr(0, 200));
  for (char& c : result) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) c = '?';
  }
  return result;
}

std::string request_id_of(const std::vector<http::Header>& headers) {
  for (const auto& [name, value] : headers) {
    if (name != "x-github-request-id") continue;
    const bool plain = std::all_of(value.begin(), value.end(), [](char c) {
      return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') || c == ':' || c == '-';
    });
    if (plain && value.size() <= 64) return value;
  }
  return {};
}

std::int64_t quota_left_percent(const http::Response& response) {
  const auto limit = number(response, "x-ratelimit-limit");
  const auto left = number(response, "x-ratelimit-remaining");
  if (!limit || !left || *limit == 0 || *limit > 1'000'000'000) return -1;
  return std::min(*left, *limit) * 100 / *limit;
}

Answer judge(const http::Response& response, Millis wall) {
  Answer answer;
  answer.status = response.status;
  answer.request_id = request_id_of(response.headers);
  if (response.status >= 200 && response.status < 300) {
    answer.meaning = Meaning::success;
    return answer;
  }
  if (response.status == 304) {
    answer.meaning = Meaning::not_modified;
    return answer;
  }
  const bool json = is_json(response);
  if (json) answer.message = tidy(parse_message(response.body));
  answer.retry_after = retry_after(response);
  if (const auto wait = rate_limit(response, answer.message, wall)) {
    answer.meaning = Meaning::rate_limited;
    answer.retry_after = *wait;
    return answer;
  }
  // Whatever stands between us and GitHub answers in HTML; only GitHub's own word about a thing counts.
  if (!json) return answer;
  switch (response.status) {
    case 401: answer.meaning = Meaning::unauthorized; break;
    case 403: answer.meaning = Meaning::denied; break;
    case 404:
    case 410: answer.meaning = Meaning::not_found; break;
    case 409: answer.meaning = Meaning::conflict; break;
    case 400:
    case 422: answer.meaning = Meaning::invalid; break;
    default: break;
  }
  return answer;
}

}  // namespace plugins::github
