// A small blocking HTTP/1.1 client over plain sockets: one connection, kept alive, every call with a
// deadline. It needs no resolver library, so that a fully static program can use it: hosts are numeric
// addresses, "localhost" or names in /etc/hosts. Not for use by several threads at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emulator {

using HeaderList = std::vector<std::pair<std::string, std::string>>;

enum class HttpFailure {
  none,
  unreachable,  // no connection, or it broke before a whole answer came
  timeout,
  interrupted,  // the interrupt descriptor became readable
  protocol,     // the answer is not HTTP, or larger than 64 MiB
};

struct HttpReply {
  HttpFailure failure = HttpFailure::none;
  int status = 0;
  HeaderList headers;  // names in lower case
  std::string body;

  [[nodiscard]] bool ok() const { return failure == HttpFailure::none && status >= 200 && status < 300; }
  [[nodiscard]] std::string header(std::string_view lower_case_name) const;
};

struct HttpCall {
  std::string method = "GET";
  std::string target = "/";
  HeaderList headers{};
  std::string body{};
  std::chrono::milliseconds timeout{10'000};
  int interrupt_fd = -1;  // when it becomes readable the call ends at once; nothing is read from it
};

class HttpClient {
 public:
  HttpClient(std::string host, std::uint16_t port);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // A kept connection that the server has closed meanwhile is replaced once, if not a byte of the answer had
  // come.
  HttpReply call(const HttpCall& call);
  void close();

 private:
  std::string host_;
  std::uint16_t port_;
  int fd_ = -1;
};

}  // namespace emulator
