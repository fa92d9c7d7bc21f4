#include "server/faults.hpp"

#include <algorithm>
#include <array>

#include "wire/text.hpp"

namespace emulator {
namespace {

struct Name {
  FaultAction action;
  std::string_view text;
};
constexpr std::array kNames{
    Name{FaultAction::delay, "delay"},
    Name{FaultAction::status, "status"},
    Name{FaultAction::html, "html"},
    Name{FaultAction::empty, "empty"},
    Name{FaultAction::truncate, "truncate"},
    Name{FaultAction::cut, "cut"},
    Name{FaultAction::bom, "bom"},
    Name{FaultAction::slow, "slow"},
    Name{FaultAction::drop, "drop"},
    Name{FaultAction::execute_then_drop, "execute_then_drop"},
    Name{FaultAction::rate_limit, "rate_limit"},
    Name{FaultAction::secondary_limit, "secondary_limit"},
    Name{FaultAction::stale, "stale"},
    Name{FaultAction::session_conflict, "session_conflict"},
    Name{FaultAction::version_deprecated, "version_deprecated"},
    Name{FaultAction::update, "update"},
    Name{FaultAction::withhold, "withhold"},
    Name{FaultAction::withdraw, "withdraw"},
};

bool about_assignments(FaultAction action) {
  return action == FaultAction::withhold || action == FaultAction::withdraw;
}

std::string_view raw_query(std::string_view target) {
  const auto at = target.find('?');
  return at == std::string_view::npos ? std::string_view{} : target.substr(at + 1);
}

bool take(Fault& fault) {
  ++fault.hits;
  if (fault.hits <= fault.skip) return false;
  return fault.count < 0 || fault.hits - fault.skip <= fault.count;
}

constexpr std::string_view kPage =
    "<!DOCTYPE html>\n<html><head><title>Unicorn!</title></head><body><h1>This page is taking too long to "
    "load.</h1></body></html>\n";

}  // namespace

std::optional<FaultAction> fault_action(std::string_view name) {
  const auto at = std::find_if(kNames.begin(), kNames.end(), [&](const Name& n) { return n.text == name; });
  return at == kNames.end() ? std::nullopt : std::optional(at->action);
}

std::string_view to_string(FaultAction action) {
  return std::find_if(kNames.begin(), kNames.end(), [&](const Name& n) { return n.action == action; })->text;
}

bool executes(const Fault& fault) {
  if (fault.execute) return *fault.execute;
  switch (fault.action) {
    case FaultAction::delay:
    case FaultAction::truncate:
    case FaultAction::cut:
    case FaultAction::bom:
    case FaultAction::slow:
    case FaultAction::execute_then_drop:
    case FaultAction::stale:
    case FaultAction::withhold:
    case FaultAction::withdraw: return true;
    case FaultAction::status:
    case FaultAction::html:
    case FaultAction::empty:
    case FaultAction::drop:
    case FaultAction::rate_limit:
    case FaultAction::secondary_limit:
    case FaultAction::session_conflict:
    case FaultAction::version_deprecated:
    case FaultAction::update: return false;
  }
  return true;
}

Response spoil(const Fault& fault, const std::optional<Response>& answer, std::int64_t now_ms) {
  Response out = answer.value_or(json_response(200, "{}"));
  switch (fault.action) {
    case FaultAction::delay:
    case FaultAction::stale:
    case FaultAction::withhold:
    case FaultAction::withdraw: break;
    case FaultAction::status:
      out = error_response(fault.status, "Something went wrong while executing your request.");
      break;
    case FaultAction::html:
      out = Response{};
      out.body = kPage;
      out.set_header("Content-Type", "text/html; charset=utf-8");
      break;
    case FaultAction::empty: out = json_response(200, ""); break;
    case FaultAction::truncate: out.body.resize(out.body.size() / 2); break;
    case FaultAction::cut: out.delivery = Delivery::cut; break;
    case FaultAction::bom: out.body.insert(0, "\xEF\xBB\xBF"); break;
    case FaultAction::slow:
      out.delivery = Delivery::slow;
      out.slow_ms = fault.for_ms;
      break;
    case FaultAction::drop:
    case FaultAction::execute_then_drop: out.delivery = Delivery::dropped; break;
    case FaultAction::rate_limit:
      out = error_response(403, "API rate limit exceeded for user ID 1.");
      out.set_header("X-RateLimit-Remaining", "0");
      out.set_header("X-RateLimit-Reset",
                     std::to_string(now_ms / 1000 + std::max<std::int64_t>(fault.for_ms / 1000, 1)));
      break;
    case FaultAction::secondary_limit:
      out = error_response(
          403, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.");
      if (fault.retry_after < 0) out.set_header("Retry-After", "60");
      break;
    case FaultAction::session_conflict:
      out = json_response(
          409, R"({"code":"session_conflict","message":"A session for this runner already exists."})");
      break;
    case FaultAction::version_deprecated:
      out = json_response(403,
                          R"({"code":"version_deprecated","message":"This runner version is deprecated."})");
      break;
    case FaultAction::update:
      out = json_response(
          200, R"({"type":"update","version":")" + (fault.body.empty() ? "999.0.0" : fault.body) + "\"}");
      return out;
  }
  if (fault.status != 0) out.status = fault.status;
  if (!fault.body.empty()) out.body = fault.body;
  if (!fault.content_type.empty()) out.set_header("Content-Type", fault.content_type);
  if (fault.retry_after >= 0) out.set_header("Retry-After", std::to_string(fault.retry_after));
  for (const auto& [name, value] : fault.headers)
    out.set_header(name, value);
  return out;
}

std::int64_t Faults::add(Fault fault) {
  fault.id = next_id_++;
  faults_.push_back(std::move(fault));
  return faults_.back().id;
}

bool Faults::remove(std::int64_t id) {
  return std::erase_if(faults_, [&](const Fault& f) { return f.id == id; }) > 0;
}

std::optional<Fault> Faults::meet(const Request& request) {
  for (auto& fault : faults_) {
    if (about_assignments(fault.action)) continue;
    if (fault.method != "*" && !equal_fold(fault.method, request.method)) continue;
    if (!glob_match(lower(fault.path), lower(request.path)) ||
        !glob_match(fault.query, raw_query(request.target))) {
      continue;
    }
    if (take(fault)) return fault;
  }
  return std::nullopt;
}

bool Faults::withheld(std::string_view repository, std::int64_t now_ms) const {
  return std::any_of(faults_.begin(), faults_.end(), [&](const Fault& fault) {
    return fault.action == FaultAction::withhold && glob_match(lower(fault.target), lower(repository)) &&
           (fault.for_ms == 0 || now_ms < fault.created_at + fault.for_ms);
  });
}

std::optional<Fault> Faults::meet_assignment(std::string_view repository) {
  for (auto& fault : faults_) {
    if (fault.action == FaultAction::withdraw && glob_match(lower(fault.target), lower(repository)) &&
        take(fault)) {
      return fault;
    }
  }
  return std::nullopt;
}

}  // namespace emulator
