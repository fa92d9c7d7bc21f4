#include "wire/http_client.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

#include "wire/text.hpp"

namespace emulator {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kLargestAnswer = 64U << 20U;

struct Wait {
  Clock::time_point deadline;
  int interrupt_fd;

  // Waits until the descriptor is ready for `events`.
  [[nodiscard]] HttpFailure until(int fd, short events) const {
    while (true) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
      if (left <= 0) return HttpFailure::timeout;
      std::array<pollfd, 2> set{pollfd{fd, events, 0}, pollfd{interrupt_fd, POLLIN, 0}};
      const int ready =
          ::poll(set.data(), interrupt_fd >= 0 ? 2 : 1, static_cast<int>(std::min<long>(left, 60'000)));
      if (ready < 0 && errno != EINTR) return HttpFailure::unreachable;
      if (ready > 0 && set[1].revents != 0) return HttpFailure::interrupted;
      if (ready > 0 && set[0].revents != 0) return HttpFailure::none;
    }
  }
};

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

std::optional<Address> numeric(const std::string& host, std::uint16_t port) {
  Address address;
  sockaddr_in four{};
  sockaddr_in6 six{};
  if (inet_pton(AF_INET, host.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    std::memcpy(&address.storage, &four, sizeof four);
    address.size = sizeof four;
    return address;
  }
  if (inet_pton(AF_INET6, host.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    std::memcpy(&address.storage, &six, sizeof six);
    address.size = sizeof six;
    return address;
  }
  return std::nullopt;
}

std::optional<Address> resolve(const std::string& host, std::uint16_t port) {
  if (auto address = numeric(host, port)) return address;
  std::ifstream hosts("/etc/hosts");
  std::string line;
  while (std::getline(hosts, line)) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string literal;
    std::string name;
    words >> literal;
    while (words >> name) {
      if (!equal_fold(name, host)) continue;
      if (auto address = numeric(literal, port)) return address;
    }
  }
  if (equal_fold(host, "localhost")) return numeric("127.0.0.1", port);
  return std::nullopt;
}

HttpFailure open_connection(const std::string& host, std::uint16_t port, const Wait& wait, int& out) {
  const auto address = resolve(host, port);
  if (!address) return HttpFailure::unreachable;
  const int fd = ::socket(address->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return HttpFailure::unreachable;
  out = fd;
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address->storage), address->size) == 0) {
    return HttpFailure::none;
  }
  if (errno != EINPROGRESS) return HttpFailure::unreachable;
  if (const auto failure = wait.until(fd, POLLOUT); failure != HttpFailure::none) return failure;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0 ? HttpFailure::none : HttpFailure::unreachable;
}

HttpFailure send_all(int fd, std::string_view bytes, const Wait& wait) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (sent < 0 && errno != EAGAIN && errno != EINTR) {
      return HttpFailure::unreachable;
    } else if (const auto failure = wait.until(fd, POLLOUT); failure != HttpFailure::none) {
      return failure;
    }
  }
  return HttpFailure::none;
}

// Appends what came; `closed` is set at the end of the stream.
HttpFailure receive_some(int fd, std::string& into, bool& closed, const Wait& wait) {
  std::array<char, 65536> buffer;
  while (true) {
    if (const auto failure = wait.until(fd, POLLIN); failure != HttpFailure::none) return failure;
    const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (got > 0) {
      into.append(buffer.data(), static_cast<std::size_t>(got));
      return into.size() > kLargestAnswer ? HttpFailure::protocol : HttpFailure::none;
    }
    if (got == 0) {
      closed = true;
      return HttpFailure::none;
    }
    if (errno != EAGAIN && errno != EINTR) {
      return HttpFailure::unreachable;
    }
  }
}

bool parse_head(std::string_view head, HttpReply& reply) {
  const auto lines = split(head, '\n');
  const std::string& first = lines.front();
  if (!first.starts_with("HTTP/1.") || first.size() < 12) return false;
  const auto [end, error] = std::from_chars(first.data() + 9, first.data() + 12, reply.status);
  if (error != std::errc{} || end != first.data() + 12) return false;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::string_view line = lines[i];
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && (value.front() == ' ' || value.front() == '\t'))
      value.remove_prefix(1);
    while (!value.empty() && (value.back() == '\r' || value.back() == ' '))
      value.remove_suffix(1);
    reply.headers.emplace_back(lower(line.substr(0, colon)), value);
  }
  return true;
}

}  // namespace

std::string HttpReply::header(std::string_view lower_case_name) const {
  for (const auto& [name, value] : headers) {
    if (name == lower_case_name) return value;
  }
  return {};
}

HttpClient::HttpClient(std::string host, std::uint16_t port) : host_(std::move(host)), port_(port) {}

HttpClient::~HttpClient() { close(); }

void HttpClient::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

HttpReply HttpClient::call(const HttpCall& call) {
  const Wait wait{Clock::now() + call.timeout, call.interrupt_fd};
  const auto failed = [this](HttpFailure failure) {
    close();
    HttpReply reply;
    reply.failure = failure;
    return reply;
  };
  std::string out = call.method + " " + call.target + " HTTP/1.1\r\nHost: " + host_ + ":" +
                    std::to_string(port_) + "\r\nContent-Length: " + std::to_string(call.body.size()) +
                    "\r\n";
  for (const auto& [name, value] : call.headers)
    out.append(name).append(": ").append(value).append("\r\n");
  out.append("\r\n").append(call.body);

  std::string in;
  bool closed = false;
  for (int round = 0;; ++round) {
    const bool kept = fd_ >= 0;
    auto failure = kept ? HttpFailure::none : open_connection(host_, port_, wait, fd_);
    if (failure == HttpFailure::none) failure = send_all(fd_, out, wait);
    if (failure == HttpFailure::none) failure = receive_some(fd_, in, closed, wait);
    if (failure == HttpFailure::none && closed) failure = HttpFailure::unreachable;
    if (failure == HttpFailure::none) break;
    close();
    closed = false;
    if (!kept || failure != HttpFailure::unreachable || round > 0) return failed(failure);
  }

  HttpReply reply;
  std::size_t head_end = 0;
  while ((head_end = in.find("\r\n\r\n")) == std::string::npos) {
    const auto failure = closed ? HttpFailure::unreachable : receive_some(fd_, in, closed, wait);
    if (failure != HttpFailure::none) return failed(failure);
  }
  if (!parse_head(std::string_view(in).substr(0, head_end), reply)) return failed(HttpFailure::protocol);
  in.erase(0, head_end + 4);
  const std::string length = reply.header("content-length");
  const bool bodiless = reply.status == 204 || reply.status == 304 || call.method == "HEAD";
  std::size_t expected = 0;
  if (!length.empty()) std::from_chars(length.data(), length.data() + length.size(), expected);
  while (!bodiless && !closed && (length.empty() || in.size() < expected)) {
    if (const auto failure = receive_some(fd_, in, closed, wait); failure != HttpFailure::none)
      return failed(failure);
  }
  if (!bodiless && !length.empty() && in.size() < expected) return failed(HttpFailure::unreachable);
  reply.body = std::move(in);
  if (closed || equal_fold(reply.header("connection"), "close")) close();
  return reply;
}

}  // namespace emulator
