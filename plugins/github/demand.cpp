// The jobs that wait or run, of a repository or over an organization.
#include <set>
#include <utility>

#include "github/gateway.hpp"
#include "github/parse.hpp"

namespace plugins::github {
namespace {

constexpr int kLooksPerListing = 30;

// Each job once. A job that was seen waiting and then running is running.
class Found {
 public:
  void add(const std::string& repository, const Jobs& page) {
    for (const auto& job : page.jobs) {
      const auto [at, fresh] = jobs_.try_emplace(job.id, job);
      if (fresh) {
        at->second.repository = repository;
      } else if (!job.queued) {
        at->second.queued = false;
        at->second.runner_name = job.runner_name;
      }
    }
  }
  // True the first time.
  bool add_run(const std::string& repository, std::int64_t id) {
    return runs_.emplace(repository, id).second;
  }
  std::vector<rmgr::Job> take() {
    std::vector<rmgr::Job> result;
    result.reserve(jobs_.size());
    for (auto& [id, job] : jobs_)
      result.push_back(std::move(job));
    return result;
  }

 private:
  std::map<std::int64_t, rmgr::Job> jobs_;
  std::set<std::pair<std::string, std::int64_t>> runs_;
};

}  // namespace

rmgr::Demand Gateway::demand(const rmgr::Call& call, std::string_view target) {
  const auto path = target_path(target);
  const auto size = std::to_string(session_.settings().page_size);
  Sweep sweep(session_, call, target);
  const auto names = path.organization ? repositories(sweep, target, path.path)
                                       : std::vector<std::string>{std::string(target)};
  for (const auto& repository : names) {
    for (const char* status : {"queued", "in_progress"}) {
      std::string runs = "/repos/";
      runs.append(repository)
          .append("/actions/runs?status=")
          .append(status)
          .append("&per_page=")
          .append(size);
      Query query{PageKind::runs, std::move(runs), repository, "Listing the workflow runs of " + repository};
      query.may_be_missing = path.organization;
      query.may_be_denied = path.organization;
      sweep.add(std::move(query));
    }
  }

  Found found;
  std::set<std::string> hidden;
  sweep.run(
      [&](const Query& query, const Page& page) {
        if (const auto* jobs = std::get_if<Jobs>(&page)) return found.add(query.repository, *jobs);
        const auto* runs = std::get_if<Runs>(&page);
        if (runs == nullptr) return;
        for (const auto id : runs->ids) {
          if (!found.add_run(query.repository, id)) continue;
          Query jobs{PageKind::jobs,
                     "/repos/" + query.repository + "/actions/runs/" + std::to_string(id) +
                         "/jobs?filter=latest&per_page=" + size,
                     query.repository, "Listing the jobs of a run of " + query.repository};
          jobs.may_be_missing = true;  // somebody deleted the run meanwhile
          sweep.add(std::move(jobs));
        }
      },
      [&](const Query& query, Meaning) {
        if (query.kind == PageKind::runs) hidden.insert(query.repository);
      });
  if (!names.empty() && hidden.size() == names.size()) {
    throw rmgr::Error(rmgr::Status::denied, "The token may read the workflow runs of no repository of " +
                                                std::string(target) +
                                                "; give it Actions (read), or the scope repo.");
  }
  for (const auto& repository : hidden)
    forget_repository(target, repository);
  return {found.take(), sweep.unchanged(), sweep.quota_left_percent()};
}

std::vector<std::string> Gateway::repositories(Sweep& sweep, std::string_view organization,
                                               const std::string& path) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = organizations_.find(organization);
    if (known != organizations_.end() && known->second.looks_left > 0) {
      --known->second.looks_left;
      return known->second.names;
    }
  }
  sweep.add({PageKind::repositories,
             path + "/repos?per_page=" + std::to_string(session_.settings().page_size), "",
             "Listing the repositories of " + std::string(organization)});
  std::set<std::string> names;
  sweep.run(
      [&](const Query&, const Page& page) {
        for (const auto& name : std::get<github::Repositories>(page).names) {
          if (is_repository(name)) {
            names.insert(name);
          } else {
            throw rmgr::Error(
                rmgr::Status::bad_response,
                "The listing of the repositories of " + std::string(organization) + " holds an odd name.");
          }
        }
      },
      [](const Query&, Meaning) {});
  std::vector<std::string> result(names.begin(), names.end());
  const std::lock_guard lock(mutex_);
  organizations_[std::string(organization)] = {result, kLooksPerListing - 1};
  return result;
}

void Gateway::forget_repository(std::string_view organization, const std::string& repository) {
  session_.host().log().info("The token cannot read the workflow runs of " + repository +
                             "; it is left out until the repositories are listed again.");
  const std::lock_guard lock(mutex_);
  const auto known = organizations_.find(organization);
  if (known != organizations_.end()) std::erase(known->second.names, repository);
}

}  // namespace plugins::github
