#include "server/app.hpp"

#include <array>
#include <charconv>
#include <ctime>

#include "wire/text.hpp"

namespace emulator {
namespace {

bool is_control(const Request& request) { return request.path.starts_with("/_control/"); }
bool is_rest(const Request& request) { return !request.path.starts_with("/_"); }

std::string http_date(std::int64_t wall_ms) {
  const std::time_t seconds = wall_ms / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 40> buffer{};
  return {buffer.data(), std::strftime(buffer.data(), buffer.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts)};
}

// FNV-1a: an ETag needs to differ when the body does, nothing more.
std::string etag_of(std::string_view body) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : body)
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  std::array<char, 17> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), hash, 16).ptr;
  return "W/\"" + std::string(text.data(), end) + "\"";
}

}  // namespace

App::App(HttpServer& server, Settings settings, Packages packages)
    : server_(server),
      settings_(std::move(settings)),
      packages_(std::move(packages)),
      rest_api_(world_, packages_, settings_),
      runner_api_(world_, faults_, settings_, server_),
      control_api_({world_, faults_, packages_, log_, settings_, runner_api_, server_, app_auth_}) {}

void App::handle(Request request, const std::shared_ptr<Exchange>& exchange) {
  if (is_control(request)) return exchange->respond(control_api_.handle(request));
  auto shared = std::make_shared<const Request>(std::move(request));
  const auto fault = faults_.meet(*shared);
  const auto question = shared->target.find('?');
  LoggedRequest entry;
  entry.at_ms = wall_clock_ms();
  entry.method = shared->method;
  entry.path = shared->path;
  entry.query = question == std::string::npos ? "" : shared->target.substr(question + 1);
  if (fault) entry.fault = to_string(fault->action);

  const auto finish = [this, exchange, entry, rest = is_rest(*shared)](Response response) {
    add_common_headers(response, rest);
    LoggedRequest logged = entry;
    logged.status = response.delivery == Delivery::dropped ? 0 : response.status;
    log_.add(std::move(logged));
    exchange->respond(std::move(response));
  };
  const auto go = [this, shared, exchange, fault, finish] {
    if (!fault) return execute(*shared, exchange, 0, finish);
    if (!executes(*fault)) return finish(spoil(*fault, std::nullopt, wall_clock_ms()));
    const Millis age = fault->action == FaultAction::stale ? fault->as_of_ms : 0;
    execute(*shared, exchange, age,
            [fault, finish](Response response) { finish(spoil(*fault, response, wall_clock_ms())); });
  };
  if (fault && fault->delay_ms > 0) return server_.after(std::chrono::milliseconds(fault->delay_ms), go);
  go();
}

void App::execute(const Request& request, const std::shared_ptr<Exchange>& exchange, Millis view_age,
                  const Reply& reply) {
  if (!request.parts.empty() && request.parts[0] == "_runner")
    return runner_api_.handle(request, reply, *exchange);
  if (!request.parts.empty() && request.parts[0] == "_download") return reply(download(request));
  reply(rest(request, view_age));
}

Response App::rest(const Request& request, Millis view_age) {
  const Millis now = wall_clock_ms();
  const Millis server_now = now + settings_.clock_offset_ms;
  if (AppAuth::serves(request)) return app_auth_.handle(request, server_now);
  const std::string credential = credential_of(request);
  if (app_auth_.issued(credential)) {
    if (auto refused = app_auth_.refusal(credential, request, server_now)) return *refused;
  } else {
    const bool over = settings_.token_expires_at_ms > 0 && settings_.token_expires_at_ms <= server_now;
    if (credential.empty() || over || (!settings_.token.empty() && credential != settings_.token))
      return error_response(401, "Bad credentials");
  }
  const bool free = request.path == "/rate_limit";
  if (!free && settings_.rate_remaining <= 0)
    return error_response(403, "API rate limit exceeded for user ID 1.");
  Response response = rest_api_.handle(request, now - view_age, now);
  if (request.method == "GET" && response.status == 200) {
    const std::string etag = etag_of(response.body);
    response.set_header("ETag", etag);
    response.set_header("Cache-Control", "private, max-age=60, s-maxage=60");
    if (request.header("if-none-match") == etag) {
      response.status = 304;
      response.body.clear();
      return response;
    }
  }
  if (!free) --settings_.rate_remaining;
  return response;
}

Response App::download(const Request& request) const {
  const auto row = request.parts.size() == 2 ? packages_.find(request.parts[1]) : std::nullopt;
  if (!row || (request.method != "GET" && request.method != "HEAD")) {
    Response missing;
    missing.status = 404;
    missing.body = "Not Found";
    missing.set_header("Content-Type", "text/plain");
    return missing;
  }
  Response response;
  response.file = row->path;
  response.file_size = row->size;
  const std::string etag = "\"" + row->checksum.substr(0, 32) + "\"";
  response.set_header("Content-Type", "application/octet-stream");
  response.set_header("Accept-Ranges", "bytes");
  response.set_header("ETag", etag);
  const std::string range = request.header("range");  // only the form that resumes a download: bytes=N-
  const std::string condition = request.header("if-range");
  constexpr std::string_view unit = "bytes=";
  if (!range.starts_with(unit) || !range.ends_with('-') || (!condition.empty() && condition != etag))
    return response;
  std::uint64_t from = 0;
  const auto [end, error] = std::from_chars(range.data() + unit.size(), range.data() + range.size(), from);
  if (error != std::errc{} || end != range.data() + range.size() - 1) return response;
  const std::string size = std::to_string(row->size);
  if (from >= row->size) {
    Response outside;
    outside.status = 416;
    outside.set_header("Content-Range", "bytes */" + size);
    return outside;
  }
  response.status = 206;
  response.file_offset = from;
  response.file_size = row->size - from;
  response.set_header("Content-Range",
                      "bytes " + std::to_string(from) + "-" + std::to_string(row->size - 1) + "/" + size);
  return response;
}

void App::add_common_headers(Response& response, bool rest) {
  const std::int64_t now = wall_clock_ms() + settings_.clock_offset_ms;
  response.set_header("Date", http_date(now));
  response.set_header("Server", "github-emulator");
  if (!rest) return;
  response.set_header("X-GitHub-Request-Id", "E0:" + std::to_string(++answers_));
  response.set_header("X-GitHub-Media-Type", "github.v3; format=json");
  response.set_header("X-GitHub-Enterprise-Version", "3.17.0");
  if (settings_.token_expires_at_ms > 0 && response.status < 400) {
    std::string end = iso_time(settings_.token_expires_at_ms);
    end.replace(end.find('T'), 1, " ").replace(end.find('Z'), 1, " UTC");
    response.set_header("GitHub-Authentication-Token-Expiration", end);
  }
  const auto add = [&](std::string_view name, std::int64_t value) {
    for (const auto& [key, present] : response.headers) {
      if (equal_fold(key, name)) return;  // a fault has said otherwise
    }
    response.headers.emplace_back(name, std::to_string(value));
  };
  add("X-RateLimit-Limit", settings_.rate_limit);
  add("X-RateLimit-Remaining", settings_.rate_remaining);
  add("X-RateLimit-Used", settings_.rate_limit - settings_.rate_remaining);
  add("X-RateLimit-Reset", now / 1000 + 3600);
  response.set_header("X-RateLimit-Resource", "core");
}

}  // namespace emulator
