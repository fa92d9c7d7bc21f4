#include "unit/plugin_github/server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <stdexcept>

namespace plugin_test {
namespace {

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// One request off the socket; `rest` keeps what arrived of the next.
std::optional<Seen> receive(int socket, std::string& rest) {
  const auto more = [&] {
    char buffer[4096];
    const auto got = ::recv(socket, buffer, sizeof(buffer), 0);
    if (got > 0) rest.append(buffer, static_cast<std::size_t>(got));
    return got > 0;
  };
  std::size_t end = 0;
  while ((end = rest.find("\r\n\r\n")) == std::string::npos) {
    if (!more()) return std::nullopt;
  }
  Seen seen;
  const std::string head = rest.substr(0, end);
  rest.erase(0, end + 4);
  const auto first = head.substr(0, head.find("\r\n"));
  seen.line = first.substr(0, first.rfind(' '));
  for (std::size_t at = head.find("\r\n"); at != std::string::npos;) {
    const auto next = head.find("\r\n", at + 2);
    const auto line = head.substr(at + 2, next == std::string::npos ? next : next - at - 2);
    const auto colon = line.find(':');
    if (colon != std::string::npos)
      seen.headers[lower(line.substr(0, colon))] = line.substr(line.find_first_not_of(' ', colon + 1));
    at = next;
  }
  const auto length =
      seen.headers.contains("content-length") ? std::stoul(seen.headers["content-length"]) : 0;
  while (rest.size() < length) {
    if (!more()) return std::nullopt;
  }
  seen.body = rest.substr(0, length);
  rest.erase(0, length);
  return seen;
}

}  // namespace

Reply json(std::string body, int status, std::vector<std::pair<std::string, std::string>> headers) {
  headers.emplace_back("Content-Type", "application/json; charset=utf-8");
  return {status, std::move(headers), std::move(body), Reply::Manner::whole};
}

Server::Server() {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (listener_ < 0 || ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener_, 64) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("cannot listen on loopback");
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

Server::~Server() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const int socket : open_)
      ::shutdown(socket, SHUT_RDWR);
  }
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  for (auto& thread : threads_)
    thread.join();
  ::close(listener_);
}

void Server::on(const std::string& line, std::vector<Reply> replies) {
  const std::lock_guard lock(mutex_);
  script_[line] = {replies.begin(), replies.end()};
}

void Server::on_any(std::function<Reply(const Seen&)> answer) {
  const std::lock_guard lock(mutex_);
  any_ = std::move(answer);
}

std::vector<Seen> Server::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

std::size_t Server::count(const std::string& line) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(seen_.begin(), seen_.end(), [&](const Seen& seen) { return seen.line == line; }));
}

std::size_t Server::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_;
}

bool Server::wait_for(std::size_t requests) const {
  for (int i = 0; i < 2000; ++i) {
    {
      const std::lock_guard lock(mutex_);
      if (seen_.size() >= requests) return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  return false;
}

void Server::accept_all() {
  for (;;) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const std::lock_guard lock(mutex_);
    if (stopping_ || socket < 0) {
      if (socket >= 0) ::close(socket);
      return;
    }
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    open_.insert(socket);
    ++connections_;
    threads_.emplace_back([this, socket] { serve(socket); });
  }
}

void Server::serve(int socket) {
  std::string rest;
  while (const auto request = receive(socket, rest)) {
    const auto reply = reply_to(*request);
    if (!send_reply(socket, reply)) break;
  }
  const std::lock_guard lock(mutex_);
  open_.erase(socket);
  ::close(socket);
}

Reply Server::reply_to(const Seen& request) {
  std::function<Reply(const Seen&)> any;
  {
    const std::lock_guard lock(mutex_);
    seen_.push_back(request);
    any = any_;
  }
  if (any) {
    if (auto reply = any(request); reply.status != 0) return reply;
  }
  const std::lock_guard lock(mutex_);
  const auto found = script_.find(request.line);
  if (found == script_.end() || found->second.empty()) return json(R"({"message":"Not Found"})", 404);
  auto reply = found->second.front();
  if (found->second.size() > 1) found->second.pop_front();
  return reply;
}

bool Server::send_reply(int socket, const Reply& reply) {
  using Manner = Reply::Manner;
  if (reply.manner == Manner::drop) return false;
  if (reply.manner == Manner::raw) {
    send_all(socket, reply.body);
    return false;
  }
  if (reply.manner == Manner::hold) {
    hold(socket);
    return false;
  }
  std::string head = "HTTP/1.1 " + std::to_string(reply.status) + " Scripted\r\n";
  for (const auto& [name, value] : reply.headers)
    head += name + ": " + value + "\r\n";
  if (reply.status != 204 && reply.status != 304)
    head += "Content-Length: " + std::to_string(reply.body.size()) + "\r\n";
  head += "\r\n";
  const auto length = reply.manner == Manner::whole ? reply.body.size() : reply.body.size() / 2;
  if (!send_all(socket, head + reply.body.substr(0, length))) return false;
  if (reply.manner == Manner::drop_body) return false;
  if (reply.manner == Manner::stall_body) {
    hold(socket);
    return false;
  }
  return true;
}

void Server::hold(int socket) {
  // Ends when the client closes or the destructor shuts the socket down.
  char byte = 0;
  while (::recv(socket, &byte, 1, 0) > 0) {
  }
}

}  // namespace plugin_test
