#include "cli/control_client.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "daemon/control_protocol.hpp"
#include "domain/time.hpp"

namespace agent::cli {

using domain::Error;
using domain::ErrorCode;
using domain::Result;

namespace {

constexpr std::chrono::seconds kPatience{15};

class Socket {
 public:
  Socket() : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {}
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

Error failure(ErrorCode code, const std::string& socket, const std::string& why) {
  return {.code = code,
          .message = "the control socket '" + socket + "' " + why,
          .retry_after = domain::Millis{0}};
}

using Deadline = std::chrono::steady_clock::time_point;

bool wait_for(int fd, short events, Deadline end) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd entry{.fd = fd, .events = events, .revents = 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(left.count()));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

// EAGAIN: the agent's queue of callers is full; the only way to wait for a place in it is to ask again.
bool connected(int fd, const sockaddr_un& address, Deadline end) {
  while (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno != EAGAIN && errno != EINTR) return false;
    if (std::chrono::steady_clock::now() >= end) return false;
    ::poll(nullptr, 0, 20);
  }
  return true;
}

Result<void> connect_to(int fd, const std::string& socket, Deadline end) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.size() >= sizeof address.sun_path)
    return failure(ErrorCode::invalid, socket, "has too long a path");
  std::memcpy(address.sun_path, socket.c_str(), socket.size());
  if (connected(fd, address, end)) return {};
  if (errno == ENOENT || errno == ENOTDIR || errno == ECONNREFUSED) {
    return failure(ErrorCode::not_found, socket,
                   "has no agent behind it; start it with `runner-manager run`");
  }
  if (errno == EACCES || errno == EPERM) {
    return failure(ErrorCode::denied, socket,
                   "does not admit this account; be root or join the socket's group");
  }
  return failure(ErrorCode::unreachable, socket, std::string("cannot be reached: ") + std::strerror(errno));
}

}  // namespace

Result<std::string> send_request(const std::string& socket, const std::string& request) {
  const Socket connection;
  if (connection.fd() < 0) return failure(ErrorCode::internal, socket, "cannot be opened");
  const Deadline end = std::chrono::steady_clock::now() + kPatience;
  if (auto reached = connect_to(connection.fd(), socket, end); !reached) return reached.error();
  const std::string line = request + "\n";
  std::size_t sent = 0;
  while (sent < line.size()) {
    const ssize_t wrote = ::send(connection.fd(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (wrote > 0) {
      sent += static_cast<std::size_t>(wrote);
    } else if ((errno != EAGAIN && errno != EINTR) || !wait_for(connection.fd(), POLLOUT, end)) {
      return failure(ErrorCode::unreachable, socket, "did not take the request");
    }
  }
  std::string answer;
  char buffer[65536];
  while (!answer.ends_with('\n')) {
    const ssize_t got = ::recv(connection.fd(), buffer, sizeof buffer, 0);
    if (got > 0) {
      answer.append(buffer, static_cast<std::size_t>(got));
      if (answer.size() > daemon::kLargestControlResponse) {
        return failure(ErrorCode::bad_response, socket, "answered more than this program takes");
      }
    } else if (got == 0) {
      return failure(ErrorCode::unreachable, socket, "closed before it answered; see the agent's log");
    } else if ((errno != EAGAIN && errno != EINTR) || !wait_for(connection.fd(), POLLIN, end)) {
      return failure(ErrorCode::deadline, socket,
                     "did not answer in time; the agent may be stuck, see its log");
    }
  }
  answer.pop_back();
  return answer;
}

}  // namespace agent::cli
