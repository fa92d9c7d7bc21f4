// What an answer of GitHub means before anybody looks into a good body.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "github/pace.hpp"
#include "support/http/message.hpp"

namespace plugins::github {

enum class Meaning {
  success,       // 2xx
  not_modified,  // 304
  unauthorized,
  rate_limited,
  denied,
  not_found,
  conflict,  // 409
  invalid,   // 400 and 422
  nonsense   // server errors, redirects, bodies that are not GitHub's
};

struct Answer {
  Meaning meaning = Meaning::nonsense;
  long status = 0;
  Millis retry_after{0};   // how long the server wants us to wait; 0: it did not say
  std::string message;     // the server's own, printable and short; may be empty
  std::string request_id;  // may be empty
};

// `wall` is our own time since 1970, for a server that sends no Date.
Answer judge(const http::Response& response, Millis wall);

// True for application/json and its kin.
bool is_json(const http::Response& response);

// Printable, at most 200 bytes.
std::string tidy(std::string_view text);

// The id by which the server's own people find a request, or nothing.
std::string request_id_of(const std::vector<http::Header>& headers);

// X-RateLimit-Remaining in percent of X-RateLimit-Limit, or -1.
std::int64_t quota_left_percent(const http::Response& response);

// ASCII letters alone change.
char lower(char c);

// True if the text contains the words, whatever the case of ASCII letters. `words` is lower-case.
bool mentions(std::string_view text, std::string_view words);

}  // namespace plugins::github
