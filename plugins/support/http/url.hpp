// Taking URLs apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plugins::http {

struct Url {
  std::string scheme;  // lower-case
  std::string host;    // lower-case; IPv6 in brackets
  std::uint16_t port = 0;
  bool default_port = false;
  bool userinfo = false;  // it carries a user or a password
  std::string path;       // at least "/"
  std::string query;      // without "?"

  [[nodiscard]] std::string authority() const;  // host, and :port unless it is the scheme's own
  [[nodiscard]] bool same_origin(const Url& other) const;
  [[nodiscard]] bool loopback() const;  // localhost, 127.0.0.0/8 or ::1, by name alone
};

// Nothing if it is not an absolute URL, is longer than 8 KiB, or holds control characters or spaces.
std::optional<Url> parse_url(std::string_view text);

// Seconds since 1970 UTC of an HTTP date, as in the Date header.
std::optional<std::int64_t> parse_date(std::string_view text);

}  // namespace plugins::http
