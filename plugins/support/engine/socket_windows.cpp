// winsock2.h wants to come before windows.h.
#include <winsock2.h>
#include <ws2tcpip.h>

#include <algorithm>

#include "support/engine/transport.hpp"
#include "support/engine/windows_error.hpp"

namespace plugins::engine {
namespace {

using rmgr::Error;
using rmgr::Status;

// Winsock counts who uses it.
class Winsock {
 public:
  Winsock() {
    WSADATA data{};
    if (::WSAStartup(MAKEWORD(2, 2), &data) != 0) throw Error(Status::retry, "Winsock cannot be used.");
  }
  ~Winsock() { ::WSACleanup(); }
  Winsock(const Winsock&) = delete;
  Winsock& operator=(const Winsock&) = delete;
};

// Never blocks: what would have to wait is signalled by the event.
class Socket {
 public:
  Socket(int family, long events)
      : socket_(::socket(family, SOCK_STREAM, IPPROTO_TCP)), event_(::WSACreateEvent()) {
    if (socket_ == INVALID_SOCKET || event_ == WSA_INVALID_EVENT ||
        ::WSAEventSelect(socket_, event_, events) != 0)
      failure_ = ::WSAGetLastError();
  }
  ~Socket() {
    if (socket_ != INVALID_SOCKET) ::closesocket(socket_);
    if (event_ != WSA_INVALID_EVENT) ::WSACloseEvent(event_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  [[nodiscard]] SOCKET get() const { return socket_; }
  [[nodiscard]] int failure() const { return failure_; }

  // Until something of `events` happens.
  void await(const Waiter& waiter) const {
    waiter.ready(event_);
    WSANETWORKEVENTS seen{};
    ::WSAEnumNetworkEvents(socket_, event_, &seen);
  }
  // 0, or why it is not connected.
  int connect(const sockaddr* address, int size, const Waiter& waiter) const {
    if (::connect(socket_, address, size) == 0) return 0;
    if (::WSAGetLastError() != WSAEWOULDBLOCK) return ::WSAGetLastError();
    waiter.ready(event_);
    WSANETWORKEVENTS seen{};
    ::WSAEnumNetworkEvents(socket_, event_, &seen);
    return seen.iErrorCode[FD_CONNECT_BIT];
  }

 private:
  SOCKET socket_;
  WSAEVENT event_;
  int failure_ = 0;
};

class SocketStream final : public Stream {
 public:
  SocketStream(std::unique_ptr<Winsock> winsock, std::unique_ptr<Socket> socket)
      : winsock_(std::move(winsock)), socket_(std::move(socket)) {}

  std::size_t read_some(std::span<char> into, const Waiter& waiter) override {
    while (true) {
      const int count = ::recv(socket_->get(), into.data(), static_cast<int>(into.size()), 0);
      if (count >= 0) return static_cast<std::size_t>(count);
      if (::WSAGetLastError() != WSAEWOULDBLOCK)
        throw broken(static_cast<unsigned long>(::WSAGetLastError()));
      socket_->await(waiter);
    }
  }

  void write_all(std::string_view bytes, const Waiter& waiter) override {
    constexpr std::size_t most = std::size_t{1} << 20;
    while (!bytes.empty()) {
      const int count =
          ::send(socket_->get(), bytes.data(), static_cast<int>(std::min(bytes.size(), most)), 0);
      if (count >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(count));
        continue;
      }
      if (::WSAGetLastError() != WSAEWOULDBLOCK)
        throw broken(static_cast<unsigned long>(::WSAGetLastError()));
      socket_->await(waiter);
    }
  }

  void finish_writing(const Waiter& /*waiter*/) override { ::shutdown(socket_->get(), SD_SEND); }

 private:
  std::unique_ptr<Winsock> winsock_;  // outlives the socket
  std::unique_ptr<Socket> socket_;
};

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

}  // namespace

std::unique_ptr<Stream> open_tcp(const Address& address, const Waiter& waiter) {
  auto winsock = std::make_unique<Winsock>();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found) != 0) {
    throw NoConnection(NoConnection::Why::silent, "The host name of the container engine at " +
                                                      address.text() + " cannot be resolved; correct host.");
  }
  const std::unique_ptr<addrinfo, FreeAddresses> list(found);
  int failure = WSAEHOSTUNREACH;
  for (const addrinfo* one = list.get(); one != nullptr; one = one->ai_next) {
    auto socket = std::make_unique<Socket>(one->ai_family, FD_CONNECT | FD_READ | FD_WRITE | FD_CLOSE);
    failure = socket->failure();
    if (failure == 0) failure = socket->connect(one->ai_addr, static_cast<int>(one->ai_addrlen), waiter);
    if (failure != 0) continue;
    const BOOL on = TRUE;
    ::setsockopt(socket->get(), IPPROTO_TCP, TCP_NODELAY, reinterpret_cast<const char*>(&on), sizeof on);
    return std::make_unique<SocketStream>(std::move(winsock), std::move(socket));
  }
  throw no_connection(address, static_cast<unsigned long>(failure));
}

}  // namespace plugins::engine
