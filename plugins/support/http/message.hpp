// What goes into and comes out of one HTTP exchange.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "support/http/secret.hpp"

namespace plugins::http {

enum class Method { get, post, del };

struct Header {
  std::string name;  // lower-case in answers
  std::string value;
};

// `url` is http or https without userinfo. A POST is sent at most once, also when its connection breaks.
struct Request {
  Method method = Method::get;
  std::string url;
  std::vector<Header> headers;  // without Authorization
  Secret authorization;         // the whole value of the Authorization header; empty: none
  std::string body;             // POST only
  std::size_t max_body = std::size_t{32} << 20;
  int redirects = 0;                       // how many a download may follow; anything else follows none
  std::chrono::seconds stall_timeout{30};  // below 1 byte a second for so long is a stall
};

struct Response {
  long status = 0;
  std::vector<Header> headers;
  std::string body;

  // The first header of that lower-case name, or nothing.
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const;
};

// Why there is no answer. `message` names the host and the reason, never the path, the query or a header.
struct Failure {
  enum class Kind {
    cancelled,
    deadline,
    unreachable,  // no connection, or it broke before an answer began
    broken,       // an answer began and did not end, or was not HTTP
    stalled,      // an answer began and no more bytes came
    too_large,
    refused,  // not sent: the request or a redirect breaks a rule
    stopped   // the receiver wanted no more
  };
  Kind kind = Kind::unreachable;
  std::string message;
  std::vector<Header> headers;  // what had arrived of the answer
};

using Outcome = std::variant<Response, Failure>;

// The one who waits. Functions may be called from any thread; `fn` may run on any thread, at once if cancel
// was requested already. off_cancel waits for a running `fn`.
class Caller {
 public:
  virtual ~Caller() = default;
  virtual bool requested() = 0;
  virtual std::chrono::milliseconds remaining() = 0;
  virtual std::uint64_t on_cancel(void (*fn)(void*), void* arg) = 0;  // 0: no room for another
  virtual void off_cancel(std::uint64_t registration) = 0;
};

// The receiving end of a download. Called on the thread that waits, so it may block.
class Receiver {
 public:
  virtual ~Receiver() = default;
  enum class Take {
    stream,   // pass the body to chunk
    collect,  // keep the body in the response, at most max_body
    stop
  };
  virtual Take head(const Response& head) = 0;     // status and headers; the body is still empty
  virtual bool chunk(std::string_view bytes) = 0;  // at most 1 MiB; false: stop
};

}  // namespace plugins::http
