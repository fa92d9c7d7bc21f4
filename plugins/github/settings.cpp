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

AppSettings app_of(const nlohmann::json& json) {
  AppSettings app;
  const bool by_id = json.contains("id");
  if (by_id == json.contains("client_id")) {
    refuse(by_id ? "The app has both id and client_id; give one of them."
                 : "The app has neither client_id nor id; give one of them.");
  }
  app.issuer =
      by_id ? std::to_string(json.at("id").get<std::int64_t>()) : json.at("client_id").get<std::string>();
  app.private_key = json.value("private_key", "");
  if (app.private_key.empty()) refuse("The app has no private_key; give the reference of a PEM file.");
  if (json.contains("installation_id")) app.installation_id = json.at("installation_id").get<std::int64_t>();
  return app;
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
    if (json.contains("app")) settings.app = app_of(json.at("app"));
    if (settings.app && !settings.token.empty()) refuse("There are a token and an app; give one of the two.");
    if (!settings.app && settings.token.empty())
      refuse("There is no credential; give token, the reference of a secret, or app.");
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
