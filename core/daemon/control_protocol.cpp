#include "daemon/control_protocol.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace agent::daemon {
namespace {

using domain::Error;
using domain::ErrorCode;
using Json = nlohmann::ordered_json;

constexpr std::string_view kResultPrefix = R"({"ok":true,"result":)";

std::string dump(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// An object, or nothing. Never throws.
std::optional<Json> parse_object(std::string_view text) {
  Json document = Json::parse(text, nullptr, false);
  if (!document.is_object()) return std::nullopt;
  return document;
}

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

std::string request_with(std::string_view command, std::string_view key, Json value) {
  Json request{{"command", command}};
  request[std::string(key)] = std::move(value);
  return dump(request);
}

ErrorCode parse_code(std::string_view word) {
  for (int i = 0; i <= static_cast<int>(ErrorCode::internal); ++i) {
    if (domain::to_string(static_cast<ErrorCode>(i)) == word) return static_cast<ErrorCode>(i);
  }
  return ErrorCode::bad_response;
}

Error no_response() {
  return {ErrorCode::bad_response, "the daemon's answer is not understood; do both come from one version?"};
}

}  // namespace

std::string control_request(std::string_view command) { return dump(Json{{"command", command}}); }

std::string control_request(std::string_view command, std::string_view key, std::int64_t value) {
  return request_with(command, key, value);
}

std::string control_request(std::string_view command, std::string_view key, const std::string& value) {
  return request_with(command, key, value);
}

std::string control_text(std::string_view request, std::string_view key) {
  const auto document = parse_object(request);
  return document ? text_of(*document, std::string(key).c_str()) : std::string();
}

domain::Result<std::string> control_command(std::string_view request) {
  const auto document = parse_object(request);
  if (!document) return Error{ErrorCode::invalid, "a request is one line with one JSON object"};
  std::string command = text_of(*document, "command");
  if (command.empty() || command.size() > 64) {
    return Error{ErrorCode::invalid, "a request names its command: {\"command\":\"status\"}"};
  }
  return command;
}

std::int64_t control_number(std::string_view request, std::string_view key, std::int64_t otherwise) {
  const auto document = parse_object(request);
  if (!document) return otherwise;
  const auto found = document->find(std::string(key));
  if (found == document->end() || !found->is_number_integer()) return otherwise;
  if (found->is_number_unsigned() && found->get<std::uint64_t>() > INT64_MAX) return INT64_MAX;
  return found->get<std::int64_t>();
}

std::string control_result(std::string_view result) {
  std::string response(kResultPrefix);
  response += result;
  response += '}';
  return response;
}

std::string control_error(const Error& error) {
  return dump(
      Json{{"ok", false},
           {"error", {{"code", std::string(domain::to_string(error.code))}, {"message", error.message}}}});
}

domain::Result<std::string> control_outcome(std::string_view response) {
  const auto document = parse_object(response);
  if (!document) return no_response();
  const auto ok = document->find("ok");
  if (ok == document->end() || !ok->is_boolean()) return no_response();
  if (ok->get<bool>()) {
    if (response.starts_with(kResultPrefix)) {
      return std::string(response.substr(kResultPrefix.size(), response.size() - kResultPrefix.size() - 1));
    }
    const auto result = document->find("result");
    if (result == document->end()) return no_response();
    return dump(*result);
  }
  const auto error = document->find("error");
  if (error == document->end() || !error->is_object()) return no_response();
  return Error{parse_code(text_of(*error, "code")), text_of(*error, "message")};
}

}  // namespace agent::daemon
