// One download, resumed where the server proves that it is still the same file.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rmgr/package_source.hpp"
#include "support/http/client.hpp"

namespace plugins::github {

class Fetch final : private http::Receiver {
 public:
  Fetch(http::Client& client, http::Caller& caller, const rmgr::FetchSink& sink,
        std::chrono::seconds stall_timeout)
      : client_(client), caller_(caller), sink_(sink), stall_timeout_(stall_timeout) {}

  // Throws rmgr::Error; after `retry` and `unreachable` what the sink took is good and can be resumed.
  void run(const std::string& url, const http::Secret& token, std::int64_t offset,
           std::string_view validator);

 private:
  Take head(const http::Response& head) override;
  bool chunk(std::string_view bytes) override;
  http::Request request(const std::string& url, const http::Secret& token, std::string_view validator) const;

  http::Client& client_;
  http::Caller& caller_;
  const rmgr::FetchSink& sink_;
  std::chrono::seconds stall_timeout_;
  std::int64_t offset_ = 0;  // asked for in this request; 0: the whole file
  bool wanted_offset_ = false;
  std::int64_t total_ = -1;
  std::int64_t position_ = 0;
};

// What Content-Range says: `bytes FIRST-LAST/TOTAL`. The total is -1 for `*`.
struct ContentRange {
  std::int64_t first = 0, last = 0, total = -1;
};
std::optional<ContentRange> parse_content_range(std::string_view text);

}  // namespace plugins::github
