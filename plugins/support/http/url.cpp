#include "support/http/url.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <memory>

namespace plugins::http {
namespace {

constexpr std::size_t kMaxUrl = 8192;

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};

std::optional<std::string> part(CURLU* url, CURLUPart what, unsigned flags) {
  char* text = nullptr;
  if (curl_url_get(url, what, &text, flags) != CURLUE_OK || text == nullptr) return std::nullopt;
  std::string copy(text);
  curl_free(text);
  return copy;
}

void lower(std::string& text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
}

bool ipv4_loopback(const std::string& host) {
  if (!host.starts_with("127.")) return false;
  return std::count(host.begin(), host.end(), '.') == 3 &&
         host.find_first_not_of("0123456789.") == std::string::npos;
}

}  // namespace

std::string Url::authority() const { return default_port ? host : host + ":" + std::to_string(port); }

bool Url::same_origin(const Url& other) const {
  return scheme == other.scheme && host == other.host && port == other.port;
}

bool Url::loopback() const { return host == "localhost" || host == "[::1]" || ipv4_loopback(host); }

std::optional<Url> parse_url(std::string_view text) {
  if (text.empty() || text.size() > kMaxUrl) return std::nullopt;
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte > 0x20 && byte != 0x7f;
  });
  if (!plain) return std::nullopt;
  const std::unique_ptr<CURLU, FreeUrl> url(curl_url());
  if (!url) return std::nullopt;
  const std::string copy(text);
  if (curl_url_set(url.get(), CURLUPART_URL, copy.c_str(), CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK)
    return std::nullopt;
  auto scheme = part(url.get(), CURLUPART_SCHEME, 0);
  auto host = part(url.get(), CURLUPART_HOST, 0);
  const auto port = part(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
  if (!scheme || !host || host->empty() || !port) return std::nullopt;
  Url result;
  result.scheme = std::move(*scheme);
  result.host = std::move(*host);
  lower(result.scheme);
  lower(result.host);
  const auto [end, error] = std::from_chars(port->data(), port->data() + port->size(), result.port);
  if (error != std::errc{} || end != port->data() + port->size()) return std::nullopt;
  result.default_port =
      (result.scheme == "https" && result.port == 443) || (result.scheme == "http" && result.port == 80);
  result.userinfo =
      part(url.get(), CURLUPART_USER, 0).has_value() || part(url.get(), CURLUPART_PASSWORD, 0).has_value();
  result.path = part(url.get(), CURLUPART_PATH, 0).value_or("/");
  result.query = part(url.get(), CURLUPART_QUERY, 0).value_or("");
  return result;
}

std::optional<std::int64_t> parse_date(std::string_view text) {
  if (text.empty() || text.size() > 64) return std::nullopt;
  const std::string copy(text);
  const auto seconds = curl_getdate(copy.c_str(), nullptr);
  if (seconds == -1) return std::nullopt;
  return seconds;
}

}  // namespace plugins::http
