#include "support/engine/exchange.hpp"

#include <array>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/optional.hpp>

namespace plugins::engine {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using rmgr::Error;
using rmgr::Status;

using Text = boost::beast::string_view;

Error nonsense(const std::string& why) {
  return {Status::bad_response, "The container engine's answer cannot be used: " + why + "."};
}

// Keeps of an answer what a Response names.
class Parser final : public http::basic_parser<false> {
 public:
  // `head_only`: whatever follows the head is not of this answer if it grants an upgrade.
  Parser(const Sink& sink, bool head_only) : sink_(sink), head_only_(head_only) {
    header_limit(most_header);
    body_limit(boost::optional<std::uint64_t>(sink ? most_stream : most_body));
    eager(true);
  }
  Response response;

  [[nodiscard]] bool upgraded() const {
    return head_only_ && is_header_done() && (response.status == 101 || response.status == 200);
  }

 private:
  void on_request_impl(http::verb, Text, Text, int, error_code&) override {}
  void on_response_impl(int status, Text, int, error_code&) override {
    response.status = static_cast<unsigned>(status);
  }
  void on_field_impl(http::field name, Text text, Text value, error_code&) override {
    if (name == http::field::content_type) response.content_type.assign(value.data(), value.size());
    if (boost::beast::iequals(text, "Api-Version")) response.api_version.assign(value.data(), value.size());
    if (boost::beast::iequals(text, "OSType")) response.os.assign(value.data(), value.size());
    if (boost::beast::iequals(text, "Libpod-Api-Version")) response.podman = true;
  }
  void on_header_impl(error_code&) override {
    // The body of an upgrade is the caller's.
    if (upgraded()) eager(false);
  }
  void on_body_init_impl(boost::optional<std::uint64_t> const&, error_code&) override {}
  std::size_t take(Text body, error_code& error) {
    if (sink_ && response.status < 300) {
      sink_({body.data(), body.size()});
    } else if (response.body.size() + body.size() > most_body) {
      error = http::error::body_limit;
      return 0;
    } else {
      response.body.append(body.data(), body.size());
    }
    return body.size();
  }
  std::size_t on_body_impl(Text body, error_code& error) override { return take(body, error); }
  void on_chunk_header_impl(std::uint64_t, Text, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, Text body, error_code& error) override {
    return take(body, error);
  }
  void on_finish_impl(error_code&) override {}

  const Sink& sink_;
  bool head_only_;
};

std::string head_of(const Request& request) {
  std::string head = request.method + ' ' + request.target + " HTTP/1.1\r\nHost: engine\r\n";
  for (const auto& [name, value] : request.headers)
    head.append(name).append(": ").append(value).append("\r\n");
  if (!request.content_type.empty()) head += "Content-Type: " + request.content_type + "\r\n";
  if (request.stream)
    head += "Transfer-Encoding: chunked\r\n";
  else if (!request.content_type.empty() || request.method == "POST" || request.method == "PUT")
    head += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  return head + "\r\n";
}

// Small pieces go together, so that an archive of small files is not as many packets.
class ChunkWriter {
 public:
  ChunkWriter(Stream& stream, const Waiter& waiter) : stream_(stream), waiter_(waiter) {}
  void add(std::string_view piece) {
    pending_ += piece;
    if (pending_.size() >= most_pending) flush();
  }
  void end() {
    flush();
    stream_.write_all("0\r\n\r\n", waiter_);
  }

 private:
  static constexpr std::size_t most_pending = std::size_t{64} << 10;

  void flush() {
    if (pending_.empty()) return;
    constexpr std::string_view digits = "0123456789abcdef";
    std::string size;
    for (std::size_t rest = pending_.size(); rest != 0; rest /= 16)
      size.insert(size.begin(), digits[rest % 16]);
    stream_.write_all(size + "\r\n", waiter_);
    stream_.write_all(pending_ += "\r\n", waiter_);
    pending_.clear();
  }

  Stream& stream_;
  const Waiter& waiter_;
  std::string pending_;
};

// An engine that refuses a body answers before it has read all of it and hangs up; the answer says why.
void send(Stream& stream, const Request& request, const Waiter& waiter) {
  try {
    stream.write_all(head_of(request), waiter);
    if (!request.stream) {
      stream.write_all(request.body, waiter);
      return;
    }
    ChunkWriter chunks(stream, waiter);
    request.stream([&chunks](std::string_view piece) { chunks.add(piece); });
    chunks.end();
  } catch (const Error& error) {
    if (error.status() != Status::unreachable) throw;
  }
}

// Feeds the parser until its answer is whole, or its upgrade granted. Answers what was not the answer's.
std::string receive(Stream& stream, Parser& parser, const Waiter& waiter) {
  std::string pending;
  std::array<char, 16384> buffer{};
  bool begun = false;
  while (!parser.is_done() && !parser.upgraded()) {
    const std::size_t count = stream.read_some(buffer, waiter);
    error_code error;
    if (count == 0) {
      if (!begun)
        throw Error(Status::unreachable, "The container engine closed the connection without an answer.");
      parser.put_eof(error);
      if (error || !parser.is_done())
        throw Error(Status::unreachable,
                    "The container engine's answer broke off; it may have been restarted.");
      break;
    }
    begun = true;
    pending.append(buffer.data(), count);
    while (!pending.empty() && !parser.is_done() && !parser.upgraded()) {
      const std::size_t used =
          parser.put(boost::beast::net::const_buffer(pending.data(), pending.size()), error);
      pending.erase(0, used);
      if (error == http::error::need_more) break;
      if (error == http::error::body_limit || error == http::error::header_limit)
        throw nonsense("it is larger than this agent reads");
      if (error) throw nonsense("it is no HTTP (" + error.message() + ")");
      if (used == 0) break;
    }
    // What the parser will not take yet is the beginning of a line, which is never long.
    if (pending.size() > most_header) throw nonsense("a line of it is too long");
  }
  return pending;
}

}  // namespace

Response exchange(Stream& stream, const Request& request, const Waiter& waiter, const Sink& sink) {
  Request closing = request;
  closing.headers.emplace_back("Connection", "close");
  send(stream, closing, waiter);
  Parser parser(sink, false);
  receive(stream, parser, waiter);
  return std::move(parser.response);
}

Response upgrade(Stream& stream, const Request& request, const Waiter& waiter, std::string& rest) {
  Request asking = request;
  asking.headers.emplace_back("Connection", "Upgrade");
  asking.headers.emplace_back("Upgrade", "tcp");
  send(stream, asking, waiter);
  const Sink none;
  Parser parser(none, true);
  rest = receive(stream, parser, waiter);
  // With eager parsing a part of the raw stream may have been taken for a body.
  if (parser.upgraded()) rest.insert(0, std::exchange(parser.response.body, {}));
  return std::move(parser.response);
}

std::string percent_encode(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  constexpr std::string_view plain = "-._~";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter || plain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += '%';
      out += digits[byte >> 4U];
      out += digits[byte & 15U];
    }
  }
  return out;
}

}  // namespace plugins::engine
