#include "github/sweep.hpp"

#include <algorithm>
#include <utility>

#include "github/link.hpp"

namespace plugins::github {
namespace {

constexpr int kMaxPages = 500;
constexpr std::size_t kMaxRequests = 50'000;

}  // namespace

Sweep::Sweep(Session& session, const rmgr::Call& call, std::string_view target)
    : session_(session), call_(call), authorization_(session, call, target) {}

void Sweep::add(Query query) { queries_.push_back(std::move(query)); }

void Sweep::ask(http::Batch& batch, Flight flight) {
  flight.reading = authorization_.reading();
  auto request = authorization_.request(http::Method::get, flight.url);
  if (const auto cached = session_.pages().find(flight.url)) {
    request.headers.push_back({"If-None-Match", cached->etag});
  }
  batch.add(std::move(request), flights_.size());
  flights_.push_back(std::move(flight));
}

void Sweep::run(const OnPage& page, const OnHidden& hidden) {
  CallCaller caller(call_);
  http::Batch batch(session_.client(), caller, static_cast<std::size_t>(session_.settings().parallel));
  for (;;) {
    for (; asked_ < queries_.size(); ++asked_) {
      ask(batch, {asked_, session_.settings().endpoint.api + queries_[asked_].path, 1, 0});
    }
    auto done = batch.next();
    if (!done) return;
    const Flight flight = std::move(flights_[done->tag]);
    const Query query = queries_[flight.query];  // a copy, since the functions may add queries
    if (const auto* failure = std::get_if<http::Failure>(&done->outcome))
      throw session_.failed(*failure, query.what);
    auto& response = std::get<http::Response>(done->outcome);
    const auto judged = authorization_.judge(response, flight.reading, query.what);
    if (const auto quota = github::quota_left_percent(response); quota >= 0) {
      quota_ = quota_ < 0 ? quota : std::min(quota_, quota);
    }
    if (!judged) {
      ask(batch, flight);
      continue;
    }
    const Answer& answer = *judged;
    if ((answer.meaning == Meaning::not_found && query.may_be_missing) ||
        (answer.meaning == Meaning::denied && query.may_be_denied)) {
      unchanged_ = false;
      hidden(query, answer.meaning);
      continue;
    }
    if (answer.meaning != Meaning::success && answer.meaning != Meaning::not_modified) {
      throw session_.failed(
          answer, query.what,
          answer.meaning == Meaning::denied || answer.meaning == Meaning::not_found
              ? "Check the target's name, and that the token may read its actions and runners."
              : "");
    }
    const auto next = take(query, flight, response, page);
    if (next.empty()) continue;
    if (flight.page >= kMaxPages || flights_.size() >= kMaxRequests)
      throw session_.nonsense(response, query.what, "has pages without an end");
    ask(batch, {flight.query, next, flight.page + 1, 0});
  }
}

std::string Sweep::take(const Query& query, const Flight& flight, http::Response& response,
                        const OnPage& page) {
  if (response.status == 304) {
    const auto cached = session_.pages().find(flight.url);
    if (!cached) throw session_.nonsense(response, query.what, "refers to one that was never given");
    page(query, cached->page);
    return cached->next;
  }
  unchanged_ = false;
  if (response.status != 200 || !is_json(response))
    throw session_.nonsense(response, query.what, "is not a JSON listing");
  auto parsed = parse_page(query.kind, response.body);
  if (!parsed) throw session_.nonsense(response, query.what, "is not the JSON that it should be");
  auto fresh = std::make_shared<CachedPage>();
  fresh->next = next_page(response, query.what);
  fresh->etag = response.header("etag").value_or("");
  fresh->page = std::move(*parsed);
  page(query, fresh->page);
  auto next = fresh->next;
  if (!fresh->etag.empty()) session_.pages().keep(flight.url, std::move(fresh));
  return next;
}

std::string Sweep::next_page(const http::Response& response, const std::string& what) const {
  std::string joined;
  for (const auto& [name, value] : response.headers) {
    if (name == "link") joined += (joined.empty() ? "" : ", ") + value;
  }
  const auto links = parse_links(joined);
  if (!links) throw session_.nonsense(response, what, "has a Link header that cannot be read");
  for (const auto& link : *links) {
    if (std::find(link.rels.begin(), link.rels.end(), "next") == link.rels.end()) continue;
    const auto url = http::parse_url(link.url);
    if (!url || url->userinfo || !url->same_origin(session_.settings().endpoint.origin)) {
      throw session_.nonsense(response, what, "continues at another host");
    }
    return link.url;
  }
  return {};
}

}  // namespace plugins::github
