// One HTTP/1.1 request and its answer, over a stream of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/engine/stream.hpp"

namespace plugins::engine {

// Writes a body piece by piece.
using Emit = std::function<void(std::string_view piece)>;

struct Request {
  std::string method;
  std::string target;  // with the query, percent-encoded
  std::vector<std::pair<std::string, std::string>> headers;
  std::string content_type;  // empty: there is no body
  std::string body;
  std::function<void(const Emit&)> stream;  // instead of `body`, in chunks
};

struct Response {
  unsigned status = 0;
  std::string content_type;
  std::string api_version;  // the header of that name
  std::string os;           // as the engine names that of its containers in a header
  bool podman = false;      // the engine names itself so in a header
  std::string body;
};

// Bounds of what an engine may answer.
inline constexpr std::uint32_t most_header = std::uint32_t{64} << 10;
inline constexpr std::size_t most_body = std::size_t{8} << 20;

// Takes a successful answer's body as it comes; at most `most_stream` bytes of it do.
using Sink = std::function<void(std::string_view piece)>;
inline constexpr std::uint64_t most_stream = std::uint64_t{256} << 20;

// Throws rmgr::Error: unreachable (no whole answer came), bad_response (it was no HTTP, or too large),
// cancelled, deadline. Any status is an answer.
Response exchange(Stream& stream, const Request& request, const Waiter& waiter, const Sink& sink = {});

// Sends a request that asks for the connection itself. With an answer of 101, or of 200 as older engines say
// it, the stream is the caller's from then on, and `rest` begins with what came behind the answer's head.
// With any other status the answer is whole and the connection is over.
Response upgrade(Stream& stream, const Request& request, const Waiter& waiter, std::string& rest);

// For one segment of a path or a value of a query.
std::string percent_encode(std::string_view text);

}  // namespace plugins::engine
