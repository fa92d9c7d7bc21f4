#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "support/engine/transport.hpp"

namespace plugins::engine {
namespace {

using rmgr::Error;
using rmgr::Status;

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;
  [[nodiscard]] int get() const { return number_; }

 private:
  int number_;
};

Error broken(int number) {
  return {Status::unreachable,
          std::string("The connection to the container engine broke: ") + std::strerror(number) + "."};
}

class SocketStream final : public Stream {
 public:
  explicit SocketStream(Descriptor socket) : socket_(std::move(socket)) {}

  std::size_t read_some(std::span<char> into, const Waiter& waiter) override {
    while (true) {
      const ssize_t count = ::recv(socket_.get(), into.data(), into.size(), 0);
      if (count >= 0) return static_cast<std::size_t>(count);
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) throw broken(errno);
      waiter.ready(socket_.get(), POLLIN);
    }
  }

  void write_all(std::string_view bytes, const Waiter& waiter) override {
    while (!bytes.empty()) {
      const ssize_t count = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(count));
        continue;
      }
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) throw broken(errno);
      waiter.ready(socket_.get(), POLLOUT);
    }
  }

  void finish_writing(const Waiter&) override { ::shutdown(socket_.get(), SHUT_WR); }

 private:
  Descriptor socket_;
};

NoConnection no_connection(const Address& address, int number) {
  const std::string where = "The container engine at " + address.text();
  switch (number) {
    case ENOENT:
      return {NoConnection::Why::absent,
              where + " is not there; start the engine's API service, or correct host."};
    case EACCES:
    case EPERM:
      return {NoConnection::Why::forbidden,
              where + " may not be used by this agent's account; give the account access to the socket."};
    default:
      return {NoConnection::Why::silent,
              where + " does not answer (" + std::strerror(number) + "); start the engine's API service."};
  }
}

// 0, or why not.
int connect_to(const Descriptor& socket, const sockaddr* address, socklen_t size, const Waiter& waiter) {
  if (::connect(socket.get(), address, size) == 0) return 0;
  if (errno != EINPROGRESS && errno != EAGAIN) return errno;
  // A unix socket whose queue is full has no progress to wait for.
  if (errno == EAGAIN) return EAGAIN;
  waiter.ready(socket.get(), POLLOUT);
  int failure = 0;
  socklen_t length = sizeof failure;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &failure, &length);
  return failure;
}

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

}  // namespace

std::unique_ptr<Stream> open_unix(const Address& address, const Waiter& waiter) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (address.path.size() >= sizeof name.sun_path) throw no_connection(address, ENAMETOOLONG);
  std::memcpy(name.sun_path, address.path.data(), address.path.size());
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0) throw no_connection(address, errno);
  const int failure = connect_to(socket, reinterpret_cast<const sockaddr*>(&name), sizeof name, waiter);
  if (failure != 0) throw no_connection(address, failure);
  return std::make_unique<SocketStream>(std::move(socket));
}

std::unique_ptr<Stream> open_tcp(const Address& address, const Waiter& waiter) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found) != 0) {
    throw NoConnection(NoConnection::Why::silent, "The host name of the container engine at " +
                                                      address.text() + " cannot be resolved; correct host.");
  }
  const std::unique_ptr<addrinfo, FreeAddresses> list(found);
  int failure = EHOSTUNREACH;
  for (const addrinfo* one = list.get(); one != nullptr; one = one->ai_next) {
    Descriptor socket(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.get() < 0) {
      failure = errno;
      continue;
    }
    failure = connect_to(socket, one->ai_addr, one->ai_addrlen, waiter);
    if (failure != 0) continue;
    const int on = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return std::make_unique<SocketStream>(std::move(socket));
  }
  throw no_connection(address, failure);
}

std::unique_ptr<Stream> open_pipe(const Address& address, const Waiter&) {
  throw Error(Status::unsupported,
              "Named pipes of container engines, as " + address.text() + ", exist on Windows only.");
}

}  // namespace plugins::engine
