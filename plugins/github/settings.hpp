// The configuration of a component that talks to GitHub.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "github/endpoint.hpp"
#include "support/http/client.hpp"

namespace plugins::github {

struct AppSettings {
  std::string issuer;       // client id, or the App's id as text
  std::string private_key;  // reference of the secret
  std::optional<std::int64_t> installation_id;
};

struct Settings {
  Endpoint endpoint;
  std::string token;               // reference of the secret; empty: an App
  std::optional<AppSettings> app;  // nothing: a token
  std::string proxy_credentials;   // reference of the secret `user:password`; empty: none
  http::Options http;
  std::chrono::seconds stall_timeout{30};
  int page_size = 100;
  int parallel = 8;  // requests of one call at once
};

// Both components of the library are configured alike.
inline constexpr std::string_view kSchema = R"({
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "url": {"type": "string", "minLength": 1, "description": "Base URL: https://github.com (the default), https://NAME.ghe.com or the one of a GitHub Enterprise Server."},
    "token": {"type": "string", "minLength": 1, "x-secret": true, "description": "Reference of a personal access token: file:PATH, env:NAME or credential:NAME. Either this or app."},
    "app": {
      "type": "object",
      "required": ["private_key"],
      "description": "A GitHub App. Either this or token.",
      "properties": {
        "client_id": {"type": "string", "pattern": "^[A-Za-z0-9._-]+$", "maxLength": 64, "description": "Client id of the App. Either this or id."},
        "id": {"type": "integer", "minimum": 1, "description": "Id of the App. Either this or client_id."},
        "private_key": {"type": "string", "minLength": 1, "x-secret": true, "description": "Reference of the App's private key in PEM form: file:PATH or credential:NAME."},
        "installation_id": {"type": "integer", "minimum": 1, "description": "The one installation to act as. Looked up for each owner unless given."}
      }
    },
    "allow_http": {"type": "boolean", "description": "Plain http, to a server on this machine only. On unless switched off."},
    "ca_bundle": {"type": "string", "description": "Absolute path of a PEM file with the certificate authorities to trust instead of the system's."},
    "proxy": {"type": "string", "description": "http://, https://, socks5:// or socks5h:// URL of a proxy, without credentials. The environment is not asked."},
    "proxy_credentials": {"type": "string", "minLength": 1, "x-secret": true, "description": "Reference of user:password for the proxy."},
    "no_proxy": {"type": "string", "description": "Hosts, suffixes and CIDR ranges that are reached without the proxy, separated by commas."},
    "connect_timeout_seconds": {"type": "integer", "minimum": 1, "maximum": 300, "description": "10 unless given."},
    "stall_timeout_seconds": {"type": "integer", "minimum": 1, "maximum": 600, "description": "How long an answer may stand still. 30 unless given."},
    "page_size": {"type": "integer", "minimum": 1, "maximum": 100, "description": "Entries asked for in one page. 100 unless given."},
    "parallel_requests": {"type": "integer", "minimum": 1, "maximum": 32, "description": "Requests at once of one look at the queue. 8 unless given."}
  }
})";

// Throws rmgr::Error `invalid` for what the schema cannot say.
Settings parse_settings(std::string_view json);

}  // namespace plugins::github
