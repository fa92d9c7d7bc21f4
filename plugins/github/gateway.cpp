#include "github/gateway.hpp"

#include <utility>

#include "crash_point.hpp"
#include "github/parse.hpp"

namespace plugins::github {
namespace {

constexpr std::size_t kMaxRunnerName = 64;
constexpr std::size_t kMaxLabels = 100;

// `name` is `already exists` in what the server says about a name that is taken.
bool name_is_taken(const Answer& answer) {
  return answer.meaning == Meaning::conflict ||
         (answer.meaning == Meaning::invalid && mentions(answer.message, "already exists"));
}

constexpr std::string_view kRights =
    "The token needs to administer self-hosted runners there: for a repository Administration (write) or the "
    "classic "
    "scope repo, for an organization Self-hosted runners (write) or the classic scope admin:org.";

}  // namespace

Gateway::Gateway(rmgr::Host host, std::string_view config_json)
    : session_(host, parse_settings(config_json)) {}

std::vector<rmgr::Runner> Gateway::inventory(const rmgr::Call& call, std::string_view target) {
  const auto path = target_path(target).path;
  Sweep sweep(session_, call, target);
  sweep.add({PageKind::runners,
             path + "/actions/runners?per_page=" + std::to_string(session_.settings().page_size), "",
             "Listing the runners of " + std::string(target)});
  std::map<std::int64_t, rmgr::Runner> runners;  // a runner may move to the next page while they are read
  sweep.run(
      [&](const Query&, const Page& page) {
        for (const auto& runner : std::get<Runners>(page).runners)
          runners.insert_or_assign(runner.id, runner);
      },
      [](const Query&, Meaning) {});
  std::vector<rmgr::Runner> result;
  result.reserve(runners.size());
  for (auto& [id, runner] : runners)
    result.push_back(std::move(runner));
  return result;
}

rmgr::Registration Gateway::register_runner(const rmgr::Call& call,
                                            const rmgr::RegistrationRequest& request) {
  const auto path = target_path(request.target).path + "/actions/runners/generate-jitconfig";
  if (request.name.empty() || request.name.size() > kMaxRunnerName) {
    throw rmgr::Error(rmgr::Status::invalid, "The runner's name is empty or longer than 64 characters.");
  }
  if (request.labels.empty() || request.labels.size() > kMaxLabels) {
    throw rmgr::Error(rmgr::Status::invalid, "A runner needs 1 to 100 labels.");
  }
  const auto what = "Registering a runner for " + std::string(request.target);
  RMGR_CRASH_POINT("github.register.before");
  auto [response, answer] =
      session_.send(call, request.target, http::Method::post, path, registration_body(request), what);
  RMGR_CRASH_POINT("github.register.answered");
  if (name_is_taken(answer)) {
    throw rmgr::Error(rmgr::Status::exists, what + " failed: a runner of that name exists already.");
  }
  if (answer.meaning == Meaning::denied || answer.meaning == Meaning::not_found) {
    throw session_.failed(answer, what, kRights);
  }
  if (answer.meaning == Meaning::invalid) {
    throw session_.failed(answer, what,
                          "Check the runner group, the labels and the work folder of the policy.");
  }
  if (response.status != 201 || !is_json(response))
    throw session_.nonsense(response, what, "is not a registration");
  auto registration = parse_registration(response.body, request.name);
  rmgr::wipe(response.body.data(), response.body.size());
  if (!registration) throw session_.nonsense(response, what, "is not the registration that was asked for");
  return std::move(*registration);
}

void Gateway::deregister(const rmgr::Call& call, std::string_view target, std::int64_t runner_id) {
  const auto path = target_path(target).path + "/actions/runners/" + std::to_string(runner_id);
  const auto what = "Deregistering runner " + std::to_string(runner_id) + " of " + std::string(target);
  RMGR_CRASH_POINT("github.deregister.before");
  const auto [response, answer] = session_.send(call, target, http::Method::del, path, "", what);
  RMGR_CRASH_POINT("github.deregister.answered");
  if (response.status == 204 || answer.meaning == Meaning::not_found) return;
  if (answer.meaning == Meaning::invalid && mentions(answer.message, "running a job")) {
    throw rmgr::Error(rmgr::Status::busy, what + " was refused: it is running a job.");
  }
  if (answer.meaning == Meaning::denied) throw session_.failed(answer, what, kRights);
  if (answer.meaning == Meaning::invalid) throw session_.failed(answer, what);
  throw session_.nonsense(response, what, "is not one to a deregistration");
}

}  // namespace plugins::github
