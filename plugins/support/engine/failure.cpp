#include "support/engine/failure.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "support/engine/json.hpp"

namespace plugins::engine {
namespace {

using rmgr::Status;

constexpr std::size_t most_shown = 300;

bool contains(std::string_view text, std::string_view word) {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  };
  return std::search(text.begin(), text.end(), word.begin(), word.end(), same) != text.end();
}

template <std::size_t N>
bool contains_any(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return contains(text, word); });
}

Status status_of(unsigned http) {
  switch (http) {
    case 400: return Status::invalid;
    case 401: return Status::unauthorized;
    case 403: return Status::denied;
    case 404: return Status::not_found;
    case 409: return Status::exists;
    default: return http >= 500 || http == 429 ? Status::retry : Status::bad_response;
  }
}

// Between the scheme and the host of a URL, and behind its question mark, there may be credentials.
std::string without_credentials(std::string text) {
  for (std::size_t scheme = text.find("://"); scheme != std::string::npos;
       scheme = text.find("://", scheme + 3)) {
    const std::size_t from = scheme + 3;
    const std::size_t end = std::min(text.find_first_of(" \"'", from), text.size());
    const std::size_t query = text.find('?', from);
    if (query < end) text.erase(query, end - query);
    const std::size_t slash = std::min({text.find_first_of("/ \"'", from), text.size()});
    const std::size_t at = text.rfind('@', slash);
    if (at != std::string::npos && at >= from && at < slash) text.erase(from, at + 1 - from);
  }
  return text;
}

}  // namespace

std::string presentable(std::string_view text) {
  std::string shown(text.substr(0, 4 * most_shown));
  std::replace_if(
      shown.begin(), shown.end(),
      [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20 || byte >= 0x7f;
      },
      ' ');
  shown = without_credentials(std::move(shown));
  if (shown.size() > most_shown) shown.resize(most_shown);
  while (!shown.empty() && (shown.back() == ' ' || shown.back() == '.'))
    shown.pop_back();
  return shown;
}

Refused refused(const std::string& what, const Response& answer) {
  std::string reason = presentable(read_message(answer.body));
  std::string message =
      "The container engine refused to " + what + " (" + std::to_string(answer.status) + ")";
  if (!reason.empty()) message += ": " + reason;
  return {status_of(answer.status), answer.status, std::move(reason), message + "."};
}

Refused pull_refused(const std::string& image, unsigned http, std::string_view text) {
  std::string reason = presentable(text);
  constexpr std::array<std::string_view, 6> credentials{
      "unauthorized",  "authentication required",   "denied",
      "no basic auth", "invalid username/password", "forbidden"};
  constexpr std::array<std::string_view, 5> platform{
      "no matching manifest for", "no image found in manifest list", "no image found in image index",
      "does not match the specified platform", "unsupported os"};
  constexpr std::array<std::string_view, 6> missing{"manifest unknown", "name unknown",
                                                    "not found",        "does not exist",
                                                    "no such image",    "repository name not known"};
  constexpr std::array<std::string_view, 5> network{"connection refused", "no such host", "i/o timeout",
                                                    "network is unreachable", "dial tcp"};
  const auto failure = [&](Status status, const std::string& what) {
    return Refused(status, http, reason,
                   "The image " + image + what + (reason.empty() ? "" : " (" + reason + ")") + ".");
  };
  if (contains_any(std::string_view(reason), platform))
    return failure(Status::unsupported, " has no variant for this machine's platform; name another image");
  if (contains_any(std::string_view(reason), credentials)) {
    return failure(
        Status::unauthorized,
        " was refused by its registry: the credential is missing, wrong or lacks the right to pull; check "
        "registry_auth");
  }
  if (contains_any(std::string_view(reason), network))
    return failure(Status::unreachable, " cannot be pulled because its registry does not answer");
  if (contains_any(std::string_view(reason), missing))
    return failure(Status::not_found, " does not exist in its registry; correct the name, tag or digest");
  return failure(Status::retry, " could not be pulled");
}

}  // namespace plugins::engine
