#include "github/packages.hpp"

#include <utility>

#include "github/fetch.hpp"
#include "github/parse.hpp"
#include "support/package/name.hpp"

namespace plugins::github {
namespace {

constexpr std::size_t kMaxRef = 4096;
constexpr std::size_t kMaxSources = 256;

}  // namespace

Packages::Packages(rmgr::Host host, std::string_view config_json)
    : session_(host, parse_settings(config_json)) {}

std::vector<rmgr::Package> Packages::catalog(const rmgr::Call& call, const rmgr::PackageQuery& query) {
  const auto path = target_path(query.target).path + "/actions/runners/downloads";
  const auto what = "Listing the runner packages for " + std::string(query.target);
  auto [response, answer] = session_.send(call, query.target, http::Method::get, path, "", what);
  if (answer.meaning != Meaning::success && answer.meaning != Meaning::not_modified) {
    throw session_.failed(answer, what,
                          "Check the target's name, and that the token may administer its runners.");
  }
  if (response.status != 200 || !is_json(response))
    throw session_.nonsense(response, what, "is not a JSON listing");
  const auto rows = parse_downloads(response.body);
  rmgr::wipe(response.body.data(), response.body.size());  // it may hold download tokens
  if (!rows) throw session_.nonsense(response, what, "is not the JSON that it should be");

  std::vector<rmgr::Package> packages;
  for (const auto& row : *rows) {
    if (row.os != query.os || row.architecture != query.architecture) continue;
    const auto name = package::parse_name(row.filename);
    if (!name || row.filename.find('/') != std::string::npos) {
      throw session_.nonsense(response, what, "names a package without a version");
    }
    check_url(row.url, what);
    const auto ref = row.url.substr(0, row.url.find_first_of("?#"));
    if (ref.size() > kMaxRef) throw session_.nonsense(response, what, "holds a URL that is too long");
    remember(ref, row.url, row.token);
    packages.push_back({name->version, row.filename, row.sha256, -1, ref});
  }
  return packages;
}

void Packages::fetch(const rmgr::Call& call, std::string_view ref, std::int64_t offset,
                     std::string_view validator, const rmgr::FetchSink& sink) {
  const std::string what = "Downloading a runner package";
  auto source = find(ref);
  check_url(source.url, what);
  if (offset < 0) throw rmgr::Error(rmgr::Status::invalid, what + " failed: the offset is negative.");
  CallCaller caller(call);
  Fetch fetch(session_.client(), caller, sink, session_.settings().stall_timeout);
  fetch.run(source.url, source.token, offset, validator);
}

void Packages::check_url(const std::string& url, const std::string& what) const {
  const auto parsed = http::parse_url(url);
  const bool plain_is_fine =
      session_.settings().endpoint.origin.scheme == "http" && parsed && parsed->loopback();
  if (parsed && !parsed->userinfo &&
      (parsed->scheme == "https" || (parsed->scheme == "http" && plain_is_fine)))
    return;
  throw rmgr::Error(rmgr::Status::bad_response, what + " failed: the download's URL is not an https URL.");
}

void Packages::remember(const std::string& ref, std::string url, const rmgr::Secret& token) {
  const std::lock_guard lock(mutex_);
  if (sources_.size() >= kMaxSources && !sources_.contains(ref)) sources_.erase(sources_.begin());
  sources_[ref] = {std::move(url), http::Secret(token.view().reveal())};
}

Packages::Source Packages::find(std::string_view ref) {
  const std::lock_guard lock(mutex_);
  const auto known = sources_.find(ref);
  // After a restart there is only the ref; GitHub's own packages need no more.
  if (known == sources_.end()) return {std::string(ref), {}};
  return {known->second.url, known->second.token.copy()};
}

}  // namespace plugins::github
