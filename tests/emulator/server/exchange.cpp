#include "server/exchange.hpp"

#include <algorithm>

#include "wire/text.hpp"

namespace emulator {

std::string Request::header(std::string_view lower_case_name) const {
  const auto at = headers.find(lower_case_name);
  return at == headers.end() ? std::string{} : at->second;
}

std::optional<std::string> Request::query_value(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return value;
  }
  return std::nullopt;
}

void set_target(Request& request, std::string_view target) {
  constexpr std::string_view prefix = "/api/v3";
  constexpr std::string_view scheme = "http://";
  // What a client sends that takes this server for its proxy.
  if (target.starts_with(scheme)) {
    target.remove_prefix(std::min(target.find('/', scheme.size()), target.size()));
  }
  request.target = target;
  const auto question = target.find('?');
  std::string_view path = target.substr(0, question);
  if (path.starts_with(prefix) && (path.size() == prefix.size() || path[prefix.size()] == '/')) {
    request.enterprise_prefix = true;
    path.remove_prefix(prefix.size());
  }
  request.path = path.empty() ? "/" : std::string(path);
  for (const auto& part : split(std::string_view(request.path).substr(1), '/')) {
    request.parts.push_back(percent_decode(part));
  }
  if (question == std::string_view::npos) return;
  for (const auto& item : split(target.substr(question + 1), '&')) {
    const auto equals = item.find('=');
    if (item.empty()) continue;
    request.query.emplace_back(
        percent_decode(item.substr(0, equals), true),
        equals == std::string::npos ? "" : percent_decode(item.substr(equals + 1), true));
  }
}

void Response::set_header(std::string_view name, std::string value) {
  for (auto& [key, old] : headers) {
    if (equal_fold(key, name)) {
      old = std::move(value);
      return;
    }
  }
  headers.emplace_back(name, std::move(value));
}

Response json_response(int status, std::string body) {
  Response response;
  response.status = status;
  response.body = std::move(body);
  response.headers.emplace_back("Content-Type", "application/json; charset=utf-8");
  return response;
}

Response error_response(int status, std::string_view message) {
  std::string body = R"({"message":")";
  for (const char c : message) {
    if (c == '"' || c == '\\') body.push_back('\\');
    if (c == '\n') {
      body += "\\n";
    } else if (static_cast<unsigned char>(c) >= 0x20) {
      body.push_back(c);
    }
  }
  body +=
      R"(","documentation_url":"https://docs.github.com/rest","status":")" + std::to_string(status) + "\"}";
  return json_response(status, std::move(body));
}

}  // namespace emulator
