// From what an operator writes to where the API is.
#pragma once

#include <string>
#include <string_view>

#include "support/http/url.hpp"

namespace plugins::github {

struct Endpoint {
  std::string api;   // base of every request, without a slash at its end
  http::Url origin;  // of that base
};

// github.com and *.ghe.com have a host of their own for the API; any other host is a GitHub Enterprise
// Server. Throws rmgr::Error `invalid` for anything that is no plain base URL, and for http to a host that is
// not this machine or when `allow_http` is off.
Endpoint endpoint_of(std::string_view url, bool allow_http);

// The path of a target below the base: /repos/OWNER/REPOSITORY or /orgs/ORGANIZATION.
struct TargetPath {
  std::string path;
  bool organization = false;
};
// Throws rmgr::Error `invalid` for anything else than owner/repository or an organization.
TargetPath target_path(std::string_view target);

bool is_repository(std::string_view text);  // owner/repository

}  // namespace plugins::github
