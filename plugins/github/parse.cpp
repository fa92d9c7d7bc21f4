#include "github/parse.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "support/package/name.hpp"

namespace plugins::github {
namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 32;
constexpr std::size_t kMaxItems = 10'000;  // of one page
constexpr std::size_t kMaxRows = 1'000;    // of the downloads
constexpr std::size_t kMaxMessage = 1'000;

// Large members of a listing that nobody reads; leaving them out keeps a page of jobs small in memory.
bool unread(const Json& key) {
  static constexpr std::array<std::string_view, 6> names{
      "steps", "head_commit", "repository", "head_repository", "pull_requests", "referenced_workflows"};
  const auto& text = key.get_ref<const std::string&>();
  return std::find(names.begin(), names.end(), text) != names.end();
}

std::optional<Json> parse(std::string_view body, bool listing) {
  if (body.starts_with("\xEF\xBB\xBF")) return std::nullopt;
  bool deep = false;
  const Json::parser_callback_t keep = [&](int depth, Json::parse_event_t event, Json& value) {
    deep = deep || depth > kMaxDepth;
    if (deep) return false;
    return !(listing && event == Json::parse_event_t::key && unread(value));
  };
  Json json = Json::parse(body, keep, false);
  if (deep || json.is_discarded()) return std::nullopt;
  return json;
}

const Json* member(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

std::optional<std::int64_t> integer(const Json& object, const char* name) {
  const auto* value = member(object, name);
  if (value == nullptr || !value->is_number_integer()) return std::nullopt;
  if (value->is_number_unsigned() && value->get<std::uint64_t>() > std::uint64_t{INT64_MAX})
    return std::nullopt;
  return value->get<std::int64_t>();
}

std::optional<std::int64_t> id_of(const Json& object, const char* name) {
  const auto id = integer(object, name);
  return id && *id > 0 ? id : std::nullopt;
}

std::optional<std::string> text(const Json& object, const char* name) {
  const auto* value = member(object, name);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return value->get<std::string>();
}

bool flag(const Json& object, const char* name) {
  const auto* value = member(object, name);
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

// Absent and null are the same as `otherwise`; a value of another type is not what it should be.
bool optional_text(const Json& object, const char* name, std::string& out) {
  const auto* value = member(object, name);
  if (value == nullptr || value->is_null()) return true;
  if (!value->is_string()) return false;
  out = value->get<std::string>();
  return true;
}

bool parse_run(const Json& item, Runs& out) {
  const auto id = id_of(item, "id");
  if (!id) return false;
  out.ids.push_back(*id);
  return true;
}

bool parse_job(const Json& item, Jobs& out) {
  const auto id = id_of(item, "id");
  const auto run = id_of(item, "run_id");
  const auto status = text(item, "status");
  if (!id || !run || !status) return false;
  if (*status != "queued" && *status != "in_progress") return true;
  rmgr::Job job;
  job.queued = *status == "queued";
  job.id = *id;
  job.run_id = *run;
  const auto* labels = member(item, "labels");
  if (labels == nullptr || !labels->is_array()) return false;
  for (const auto& label : *labels) {
    if (!label.is_string()) return false;
    job.labels.push_back(label.get<std::string>());
  }
  const auto* group = member(item, "runner_group_id");
  if (group != nullptr && !group->is_null()) {
    const auto value = integer(item, "runner_group_id");
    if (!value) return false;
    job.runner_group_id = *value > 0 ? *value : 0;
  }
  if (!optional_text(item, "runner_name", job.runner_name)) return false;
  out.jobs.push_back(std::move(job));
  return true;
}

bool parse_repository(const Json& item, Repositories& out) {
  auto name = text(item, "full_name");
  if (!name || name->empty()) return false;
  if (!flag(item, "archived") && !flag(item, "disabled")) out.names.push_back(std::move(*name));
  return true;
}

bool parse_runner(const Json& item, Runners& out) {
  const auto id = id_of(item, "id");
  auto name = text(item, "name");
  const auto status = text(item, "status");
  const auto* busy = member(item, "busy");
  if (!id || !name || !status || busy == nullptr || !busy->is_boolean()) return false;
  out.runners.push_back({*id, std::move(*name), *status == "online", busy->get<bool>()});
  return true;
}

template <class List>
std::optional<Page> parse_items(const Json* items, bool (*one)(const Json&, List&)) {
  if (items == nullptr || !items->is_array() || items->size() > kMaxItems) return std::nullopt;
  List list;
  for (const auto& item : *items) {
    if (!one(item, list)) return std::nullopt;
  }
  return list;
}

}  // namespace

std::optional<Page> parse_page(PageKind kind, std::string_view body) {
  const auto json = parse(body, true);
  if (!json) return std::nullopt;
  switch (kind) {
    case PageKind::runs: return parse_items(member(*json, "workflow_runs"), &parse_run);
    case PageKind::jobs: return parse_items(member(*json, "jobs"), &parse_job);
    case PageKind::repositories: return parse_items(&*json, &parse_repository);
    case PageKind::runners: return parse_items(member(*json, "runners"), &parse_runner);
  }
  return std::nullopt;
}

std::optional<rmgr::Registration> parse_registration(std::string_view body, std::string_view name) {
  auto json = parse(body, false);
  if (!json) return std::nullopt;
  std::optional<rmgr::Registration> result;
  const auto* runner = member(*json, "runner");
  const auto id = runner == nullptr ? std::nullopt : id_of(*runner, "id");
  const auto given = runner == nullptr ? std::nullopt : text(*runner, "name");
  if (json->is_object() && json->contains("encoded_jit_config") &&
      (*json)["encoded_jit_config"].is_string()) {
    auto& secret = (*json)["encoded_jit_config"].get_ref<std::string&>();
    // It becomes the value of a variable of the runner's environment.
    const bool plain =
        std::all_of(secret.begin(), secret.end(), [](char c) { return c > ' ' && c < '\x7f'; });
    if (id && given == name && plain && !secret.empty() && secret.size() <= RMGR_SECRET_MAX) {
      result.emplace(rmgr::Registration{*id, rmgr::Secret(std::string_view(secret))});
    }
    rmgr::wipe(secret.data(), secret.size());
  }
  return result;
}

std::string registration_body(const rmgr::RegistrationRequest& request) {
  // The group is always named, because the server refuses a request without one; 1 is the default group.
  const Json body{{"name", request.name},
                  {"runner_group_id", request.runner_group_id > 0 ? request.runner_group_id : 1},
                  {"labels", request.labels},
                  {"work_folder", request.work_folder.empty() ? "_work" : request.work_folder}};
  try {
    return body.dump();
  } catch (const Json::exception&) {
    throw rmgr::Error(rmgr::Status::invalid,
                      "The name, a label or the work folder of the runner is not UTF-8.");
  }
}

std::optional<std::vector<Download>> parse_downloads(std::string_view body) {
  auto json = parse(body, false);
  if (!json || !json->is_array() || json->size() > kMaxRows) return std::nullopt;
  std::vector<Download> rows;
  for (auto& item : *json) {
    auto os = text(item, "os");
    auto architecture = text(item, "architecture");
    auto url = text(item, "download_url");
    auto filename = text(item, "filename");
    if (!os || !architecture || !url || !filename) return std::nullopt;
    Download row{std::move(*os), std::move(*architecture), std::move(*url), std::move(*filename), {}, {}};
    row.sha256 = package::normal_sha256(text(item, "sha256_checksum").value_or(""));
    if (item.contains("temp_download_token") && item["temp_download_token"].is_string()) {
      auto& token = item["temp_download_token"].get_ref<std::string&>();
      if (token.size() <= RMGR_SECRET_MAX) row.token = rmgr::Secret(std::string_view(token));
      rmgr::wipe(token.data(), token.size());
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::optional<Installed> parse_installation(std::string_view body) {
  const auto json = parse(body, false);
  const auto id = json ? id_of(*json, "id") : std::nullopt;
  if (!id) return std::nullopt;
  const auto* suspended = member(*json, "suspended_at");
  return Installed{*id, suspended != nullptr && !suspended->is_null()};
}

std::optional<AccessToken> parse_access_token(std::string_view body) {
  auto json = parse(body, false);
  if (!json || !json->is_object() || !json->contains("token") || !(*json)["token"].is_string())
    return std::nullopt;
  std::optional<AccessToken> result;
  auto& token = (*json)["token"].get_ref<std::string&>();
  auto end = text(*json, "expires_at");
  // It becomes the value of a header.
  const bool plain = std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  if (plain && end && !token.empty() && token.size() <= RMGR_SECRET_MAX)
    result.emplace(AccessToken{rmgr::Secret(std::string_view(token)), std::move(*end)});
  rmgr::wipe(token.data(), token.size());
  return result;
}

std::string parse_message(std::string_view body) {
  const auto json = parse(body, false);
  if (!json) return {};
  auto message = text(*json, "message").value_or("");
  const auto* errors = member(*json, "errors");
  if (errors != nullptr && errors->is_array()) {
    for (const auto& error : *errors) {
      if (message.size() > kMaxMessage) break;
      const auto more = error.is_string() ? error.get<std::string>() : text(error, "message").value_or("");
      if (!more.empty()) message += " " + more;
    }
  }
  return message;
}

}  // namespace plugins::github
