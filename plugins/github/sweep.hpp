// Complete listings, many pages at once.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "github/session.hpp"

namespace plugins::github {

struct Query {
  PageKind kind = PageKind::runs;
  std::string path;             // with its query
  std::string repository;       // that it is about, if it is about one
  std::string what;             // begins a sentence about a failure
  bool may_be_missing = false;  // 404 is an answer, not a failure
  bool may_be_denied = false;   // 403 too
};

// One look at the server by one call. Not thread-safe. Every page of every query is seen, or run throws.
class Sweep {
 public:
  Sweep(Session& session, const rmgr::Call& call, std::string_view target);

  void add(Query query);
  // Asks until nothing is left; both functions may add more. `hidden` hears of queries that may be missing or
  // denied and are.
  using OnPage = std::function<void(const Query&, const Page&)>;
  using OnHidden = std::function<void(const Query&, Meaning)>;
  void run(const OnPage& page, const OnHidden& hidden);

  // True if every answer so far was "not modified".
  [[nodiscard]] bool unchanged() const { return unchanged_; }
  // The least that an answer told, or -1.
  [[nodiscard]] std::int64_t quota_left_percent() const { return quota_; }

 private:
  // One page that is asked for.
  struct Flight {
    std::size_t query = 0;
    std::string url;
    int page = 1;
    int reading = 0;
  };
  void ask(http::Batch& batch, Flight flight);
  // Handles an answer; answers the URL of the next page, empty if there is none.
  std::string take(const Query& query, const Flight& flight, http::Response& response, const OnPage& page);
  std::string next_page(const http::Response& response, const std::string& what) const;

  Session& session_;
  const rmgr::Call& call_;
  Session::Authorization authorization_;
  std::vector<Query> queries_;
  std::size_t asked_ = 0;
  std::vector<Flight> flights_;
  bool unchanged_ = true;
  std::int64_t quota_ = -1;
};

}  // namespace plugins::github
