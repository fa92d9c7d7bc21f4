// The JSON that GitHub sends. Every function answers nothing for a body that is not what it should be; none
// throws for what is in a body.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rmgr/gateway.hpp"

namespace plugins::github {

struct Runs {
  std::vector<std::int64_t> ids;
};
struct Jobs {
  std::vector<rmgr::Job> jobs;  // queued and in progress only; without their repository
};
struct Repositories {
  std::vector<std::string> names;  // owner/repository, neither archived nor disabled
};
struct Runners {
  std::vector<rmgr::Runner> runners;
};
// One page of a listing.
using Page = std::variant<Runs, Jobs, Repositories, Runners>;
enum class PageKind { runs, jobs, repositories, runners };

std::optional<Page> parse_page(PageKind kind, std::string_view body);

// Wipes the secret's copies that it makes; the body is the caller's to wipe. Refuses a name that is not
// `name`.
std::optional<rmgr::Registration> parse_registration(std::string_view body, std::string_view name);

// The body of a registration. Throws rmgr::Error `invalid` for text that is not UTF-8.
std::string registration_body(const rmgr::RegistrationRequest& request);

struct Download {
  std::string os, architecture, url, filename, sha256;
  rmgr::Secret token;  // empty if none
};
std::optional<std::vector<Download>> parse_downloads(std::string_view body);

// An App's installation, and a token for one.
struct Installed {
  std::int64_t id = 0;
  bool suspended = false;
};
std::optional<Installed> parse_installation(std::string_view body);
struct AccessToken {
  rmgr::Secret token;
  std::string expires_at;
};
// The body is the caller's to wipe.
std::optional<AccessToken> parse_access_token(std::string_view body);

// The `message` of an error body and those of its `errors`, or an empty text.
std::string parse_message(std::string_view body);

}  // namespace plugins::github
