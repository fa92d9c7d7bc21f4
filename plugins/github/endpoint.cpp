#include "github/endpoint.hpp"

#include <algorithm>

#include "rmgr/error.hpp"

namespace plugins::github {
namespace {

constexpr std::size_t kMaxName = 100;

[[noreturn]] void refuse(const std::string& why) {
  throw rmgr::Error(rmgr::Status::invalid, "The URL of GitHub " + why);
}

bool is_name(std::string_view text) {
  if (text.empty() || text.size() > kMaxName || text == "." || text == "..") return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

}  // namespace

Endpoint endpoint_of(std::string_view text, bool allow_http) {
  const auto url = http::parse_url(text);
  if (!url || (url->scheme != "https" && url->scheme != "http")) {
    refuse("is not an http or https URL; write it like https://github.com.");
  }
  if (url->userinfo) refuse("carries a user name or password; give the token as a secret reference instead.");
  if (!url->query.empty()) refuse("has a query; write only the scheme and the host.");
  if (url->scheme == "http" && (!allow_http || !url->loopback())) {
    refuse(
        "is plain http, over which the token could be read; use https (http is for a server on this "
        "machine).");
  }
  auto path = url->path;
  while (path.ends_with('/'))
    path.pop_back();
  if (!path.empty() && path != "/api/v3") refuse("has a path; write only the scheme and the host.");

  Endpoint endpoint;
  endpoint.origin = *url;
  auto& host = endpoint.origin.host;
  while (host.ends_with('.'))
    host.pop_back();
  if (host == "www.github.com") host = "github.com";
  const bool hosted = host == "github.com" || host == "api.github.com" || host.ends_with(".ghe.com");
  if (hosted && !host.starts_with("api.")) host.insert(0, "api.");
  endpoint.api = endpoint.origin.scheme + "://" + endpoint.origin.authority() + (hosted ? "" : "/api/v3");
  return endpoint;
}

bool is_repository(std::string_view text) {
  const auto slash = text.find('/');
  return slash != std::string_view::npos && is_name(text.substr(0, slash)) && is_name(text.substr(slash + 1));
}

TargetPath target_path(std::string_view target) {
  if (is_name(target)) return {"/orgs/" + std::string(target), true};
  if (is_repository(target)) return {"/repos/" + std::string(target), false};
  throw rmgr::Error(
      rmgr::Status::invalid,
      "The target is neither owner/repository nor an organization; correct it in the configuration.");
}

}  // namespace plugins::github
