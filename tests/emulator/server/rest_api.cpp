#include "server/rest_api.hpp"

#include <algorithm>
#include <charconv>

#include "server/pages.hpp"
#include "server/render.hpp"
#include "wire/text.hpp"

namespace emulator {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestName = 64;
constexpr std::size_t kMostLabels = 100;
constexpr std::size_t kLongestLabel = 256;

Response not_found() { return error_response(404, "Not Found"); }

std::int64_t number(const std::string& text) {
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? value : -1;
}

Response listed(const Request& request, const std::string& base_url, std::string_view key, std::size_t total,
                const std::function<json(std::size_t)>& item) {
  const Page page = cut_page(request, total, base_url);
  json items = json::array();
  for (std::size_t i = page.first; i < page.last; ++i)
    items.push_back(item(i));
  json body =
      key.empty() ? std::move(items) : json{{"total_count", total}, {std::string(key), std::move(items)}};
  Response response = json_response(200, dump(body));
  if (!page.link.empty()) response.headers.emplace_back("Link", page.link);
  return response;
}

// What is wrong with a registration request, in GitHub's manner; nothing if it is fine.
std::optional<std::string> complaint(const json& body) {
  if (!body.is_object()) return "Problems parsing JSON";
  const auto missing = [](std::string_view field) {
    return "Invalid request.\n\n\"" + std::string(field) + "\" wasn't supplied.";
  };
  for (const char* field : {"name", "runner_group_id", "labels"}) {
    if (!body.contains(field)) return missing(field);
  }
  const auto& name = body.at("name");
  if (!name.is_string() || name.get_ref<const std::string&>().empty() ||
      name.get_ref<const std::string&>().size() > kLongestName) {
    return "Invalid request.\n\nThe name must be a string of 1 to 64 characters.";
  }
  if (!body.at("runner_group_id").is_number_integer())
    return "Invalid request.\n\nrunner_group_id is not a number.";
  const auto& labels = body.at("labels");
  if (!labels.is_array() || labels.empty() || labels.size() > kMostLabels) {
    return "Invalid request.\n\nThere must be 1 to 100 labels.";
  }
  for (const auto& label : labels) {
    if (!label.is_string() || label.get_ref<const std::string&>().empty() ||
        label.get_ref<const std::string&>().size() > kLongestLabel) {
      return "Invalid request.\n\nA label must be a string of 1 to 256 characters.";
    }
  }
  if (body.contains("work_folder") && !body.at("work_folder").is_string()) {
    return "Invalid request.\n\nwork_folder is not a string.";
  }
  return std::nullopt;
}

}  // namespace

Response RestApi::handle(const Request& request, Millis when, Millis now) {
  const auto& parts = request.parts;
  const bool get = request.method == "GET" || request.method == "HEAD";
  if (parts.size() == 1 && get && parts[0] == "rate_limit") {
    const json core{{"limit", settings_.rate_limit},
                    {"remaining", settings_.rate_remaining},
                    {"used", settings_.rate_limit - settings_.rate_remaining},
                    {"reset", now / 1000 + 3600},
                    {"resource", "core"}};
    return json_response(200, dump({{"resources", {{"core", core}}}, {"rate", core}}));
  }
  if (parts.size() == 1 && get && parts[0] == "meta") {
    return json_response(200, R"({"verifiable_password_authentication":true,"installed_version":"3.17.0"})");
  }
  if (parts.size() == 2 && get && parts[0] == "installation" && parts[1] == "repositories") {
    return list_repositories(request, std::nullopt, true);
  }
  if (parts.size() >= 3 && parts[0] == "repos") {
    const auto scope = world_.find_scope(parts[1] + "/" + parts[2]);
    return scope ? owned(request, *scope, 3, when, now) : not_found();
  }
  if (parts.size() >= 2 && parts[0] == "orgs" && parts[1].find('/') == std::string::npos) {
    const auto scope = world_.find_scope(parts[1]);
    return scope ? owned(request, *scope, 2, when, now) : not_found();
  }
  return not_found();
}

Response RestApi::owned(const Request& request, const std::string& scope, std::size_t base, Millis when,
                        Millis now) {
  const auto& parts = request.parts;
  const std::size_t rest = parts.size() - base;
  const bool get = request.method == "GET" || request.method == "HEAD";
  const bool repository = base == 3;
  if (get && rest == 0) {
    if (repository)
      return json_response(200, dump(render_repository(settings_, *world_.find_repository(scope))));
    return json_response(200, dump({{"login", scope}, {"id", 1}, {"type", "Organization"}}));
  }
  if (get && !repository && rest == 1 && parts[base] == "repos")
    return list_repositories(request, scope, false);
  if (rest < 2 || parts[base] != "actions") return not_found();
  if (parts[base + 1] == "runners") return runners(request, scope, base + 2, when, now);
  if (!get || !repository || parts[base + 1] != "runs") return not_found();
  if (rest == 2) return list_runs(request, scope, when, now);
  const Run* run = world_.find_run(number(parts[base + 2]));
  if (run == nullptr || run->repository != scope) return not_found();
  if (rest == 3) return json_response(200, dump(render_run(world_, settings_, *run, when)));
  return rest == 4 && parts[base + 3] == "jobs" ? list_jobs(request, *run, when) : not_found();
}

Response RestApi::runners(const Request& request, const std::string& scope, std::size_t base, Millis when,
                          Millis now) {
  const auto& parts = request.parts;
  const std::size_t rest = parts.size() - base;
  const bool get = request.method == "GET" || request.method == "HEAD";
  if (rest == 0) return get ? list_runners(request, scope, when) : not_found();
  if (rest != 1) return not_found();
  if (parts[base] == "downloads") return get ? list_downloads() : not_found();
  if (parts[base] == "generate-jitconfig") {
    return request.method == "POST" ? generate_jit(request, scope, now) : not_found();
  }
  Registration* registration = world_.find_registration(number(parts[base]));
  if (registration == nullptr || registration->scope != scope) return not_found();
  if (request.method == "DELETE")
    return registration->removed_at == 0 ? remove_runner(*registration, now) : not_found();
  if (!get || !registration->listed_at(when)) return not_found();
  return json_response(200, dump(render_runner(world_, *registration, when)));
}

Response RestApi::list_runs(const Request& request, const std::string& repository, Millis when,
                            Millis now) const {
  const auto wanted = request.query_value("status");
  std::vector<const Run*> found;
  const auto consider = [&](const Run& run) {
    if (run.repository != repository || run.created_at > when) return;
    if (!wanted || *wanted == to_string(world_.run_status(run, when))) found.push_back(&run);
  };
  const bool unfinished = wanted && *wanted != "completed";
  if (unfinished && when == now) {
    for (const auto id : world_.unfinished_runs())
      consider(*world_.find_run(id));
  } else {
    for (const auto& run : world_.runs())
      consider(run);
  }
  std::reverse(found.begin(), found.end());  // newest first
  return listed(request, settings_.url, "workflow_runs", found.size(),
                [&](std::size_t i) { return render_run(world_, settings_, *found[i], when); });
}

Response RestApi::list_jobs(const Request& request, const Run& run, Millis when) const {
  const bool all = request.query_value("filter").value_or("latest") == "all";
  std::vector<const Job*> found;
  for (const auto id : run.jobs) {
    const Job& job = *world_.find_job(id);
    if (job.created_at <= when && (all || job.attempt == run.attempt)) found.push_back(&job);
  }
  return listed(request, settings_.url, "jobs", found.size(),
                [&](std::size_t i) { return render_job(world_, settings_, *found[i], when); });
}

Response RestApi::list_runners(const Request& request, const std::string& scope, Millis when) const {
  const auto name = request.query_value("name");
  std::vector<const Registration*> found;
  for (const auto& registration : world_.registrations()) {
    if (registration.scope != scope || !registration.listed_at(when)) continue;
    if (!name || registration.name == *name) found.push_back(&registration);
  }
  return listed(request, settings_.url, "runners", found.size(),
                [&](std::size_t i) { return render_runner(world_, *found[i], when); });
}

Response RestApi::list_repositories(const Request& request, const std::optional<std::string>& owner,
                                    bool wrapped) const {
  const auto found = world_.repositories_of(owner);
  return listed(request, settings_.url, wrapped ? "repositories" : "", found.size(),
                [&](std::size_t i) { return render_repository(settings_, *found[i]); });
}

Response RestApi::list_downloads() const {
  json rows = json::array();
  for (const auto& row : packages_.rows())
    rows.push_back(render_download(settings_, row));
  return json_response(200, dump(rows));
}

Response RestApi::generate_jit(const Request& request, const std::string& scope, Millis now) {
  const json body = json::parse(request.body, nullptr, false);
  if (const auto wrong = complaint(body)) return error_response(body.is_object() ? 422 : 400, *wrong);
  const auto group = body.at("runner_group_id").get<std::int64_t>();
  if (!world_.has_group(group)) return not_found();
  const auto& name = body.at("name").get_ref<const std::string&>();
  if (world_.find_listed(scope, name) != nullptr) {
    return error_response(409, "Already exists - A runner with the name " + name + " already exists.");
  }
  Registration wanted;
  wanted.name = name;
  wanted.scope = scope;
  wanted.group_id = group;
  wanted.labels = body.at("labels").get<std::vector<std::string>>();
  wanted.work_folder = body.value("work_folder", "_work");
  const Registration& added = world_.add_registration(std::move(wanted), now);
  const json answer{{"runner", render_runner(world_, added, now)}, {"encoded_jit_config", jit_config(added)}};
  return json_response(201, dump(answer));
}

Response RestApi::remove_runner(Registration& registration, Millis now) {
  if (registration.job_id != 0) {
    return error_response(422, "Bad request - Runner \"" + registration.name +
                                   "\" is currently running a job and cannot be deleted.");
  }
  world_.remove_registration(registration, RemovedBy::api, now);
  Response response;
  response.status = 204;
  return response;
}

std::string RestApi::jit_config(const Registration& registration) const {
  const json runner{{"agentId", registration.id},
                    {"agentName", registration.name},
                    {"poolId", registration.group_id},
                    {"poolName", "Default"},
                    {"serverUrl", settings_.runner_url},
                    {"gitHubUrl", settings_.url + "/" + registration.scope},
                    {"workFolder", registration.work_folder},
                    {"ephemeral", true},
                    {"disableUpdate", false},
                    {"useV2Flow", true}};
  const json credentials{{"scheme", "OAuth"},
                         {"data",
                          {{"clientId", "emulated-" + std::to_string(registration.id)},
                           {"authorizationUrl", settings_.runner_url + "/_runner/sessions"},
                           {"token", registration.token}}}};
  const json key{{"d", random_hex(32)}, {"modulus", random_hex(32)}, {"exponent", "AQAB"}};
  const json files{{".runner", base64_encode(dump(runner))},
                   {".credentials", base64_encode(dump(credentials))},
                   {".credentials_rsaparams", base64_encode(dump(key))}};
  return base64_encode(dump(files));
}

}  // namespace emulator
