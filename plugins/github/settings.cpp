#include "github/settings.hpp"

#include <nlohmann/json.hpp>

#include <string>

#include "rmgr/error.hpp"

namespace plugins::github {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw rmgr::Error(rmgr::Status::invalid, why); }

void check_proxy(const std::string& text) {
  if (text.empty()) return;
  const auto url = http::parse_url(text);
  const bool known = url && (url->scheme == "http" || url->scheme == "https" || url->scheme == "socks5" ||
                             url->scheme == "socks5h");
  if (!known) refuse("The proxy is not an http, https, socks5 or socks5h URL.");
  if (url->userinfo)
    refuse("The proxy's URL carries credentials; give them as proxy_credentials, a secret reference.");
}

}  // namespace

Settings parse_settings(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) refuse("The configuration is not a JSON object.");
  try {
    Settings settings;
    settings.endpoint = endpoint_of(json.value("url", "https://github.com"), json.value("allow_http", true));
    settings.token = json.value("token", "");
    settings.proxy_credentials = json.value("proxy_credentials", "");
    settings.http.user_agent = "runner-manager/" RMGR_PLUGIN_VERSION;
    settings.http.ca_bundle = json.value("ca_bundle", "");
    settings.http.proxy = json.value("proxy", "");
    settings.http.no_proxy = json.value("no_proxy", "");
    settings.http.connect_timeout = std::chrono::seconds{json.value("connect_timeout_seconds", 10)};
    settings.stall_timeout = std::chrono::seconds{json.value("stall_timeout_seconds", 30)};
    settings.page_size = json.value("page_size", 100);
    settings.parallel = json.value("parallel_requests", 8);
    if (settings.token.empty()) refuse("The token is missing; give the reference of a secret.");
    if (!settings.http.ca_bundle.empty() && !settings.http.ca_bundle.starts_with('/')) {
      refuse("The path of the CA bundle is not absolute.");
    }
    check_proxy(settings.http.proxy);
    return settings;
  } catch (const nlohmann::json::exception&) {
    refuse("The configuration does not fit its schema.");
  }
}

}  // namespace plugins::github
