// What passes between the HTTP server and what answers: plain values, no library types.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emulator {

struct Request {
  std::string method;
  std::string target;  // as it came: path and query
  std::string path;    // without query and without the /api/v3 prefix
  bool enterprise_prefix = false;
  std::vector<std::string> parts;                           // the path's segments, percent-decoded
  std::vector<std::pair<std::string, std::string>> query;   // decoded, in order
  std::map<std::string, std::string, std::less<>> headers;  // names in lower case
  std::string body;

  [[nodiscard]] std::string header(std::string_view lower_case_name) const;
  [[nodiscard]] std::optional<std::string> query_value(std::string_view name) const;
};

// Takes a target apart; the rest of the request is the caller's to fill.
void set_target(Request& request, std::string_view target);

// How the bytes of an answer reach the caller.
enum class Delivery {
  whole,
  dropped,  // the connection is closed without a byte
  cut,      // the head promises the whole body, the connection closes after half of it
  slow,     // the body comes in small pieces
};

struct Response {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::string file;  // when set, the body is this part of a file
  std::uint64_t file_offset = 0;
  std::uint64_t file_size = 0;
  Delivery delivery = Delivery::whole;
  std::int64_t slow_ms = 0;  // how long a slow body takes in all

  void set_header(std::string_view name, std::string value);
};

Response json_response(int status, std::string body);
// {"message": …, "documentation_url": …, "status": "…"} as GitHub words its errors. `message` is plain ASCII
// text of ours.
Response error_response(int status, std::string_view message);

// One request that waits for its answer. respond() is called once, at once or later, on the server's thread.
class Exchange {
 public:
  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  virtual ~Exchange() = default;
  virtual void respond(Response response) = 0;
  // Called once if the caller goes away before the answer; replaces an earlier function.
  virtual void on_gone(std::function<void()> gone) = 0;
};

using Handler = std::function<void(Request, std::shared_ptr<Exchange>)>;

}  // namespace emulator
