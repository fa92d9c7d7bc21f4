#include "cli/control_client.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "daemon/control_protocol.hpp"

namespace agent::cli {
namespace {

using domain::Error;
using domain::ErrorCode;
using Clock = std::chrono::steady_clock;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

Error failed(const std::string& socket, int error) {
  return {ErrorCode::retry,
          "the control socket " + socket + " failed: " + std::generic_category().message(error)};
}
Error too_late() { return {ErrorCode::deadline, "the daemon did not answer in time; it may be overloaded"}; }

// False once the deadline has passed.
bool wait_for(int fd, short events, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd watched{fd, events, 0};
    const int ready = ::poll(&watched, 1, static_cast<int>(std::min<std::int64_t>(left, 60'000)));
    if (ready > 0 || (ready < 0 && errno != EINTR)) return true;
  }
}

domain::Result<void> connect_to(int fd, const std::string& socket, Clock::time_point deadline) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.size() >= sizeof(address.sun_path)) {
    return Error{ErrorCode::invalid, "the control socket's path is too long; at most 107 bytes fit"};
  }
  std::memcpy(address.sun_path, socket.data(), socket.size());
  while (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    if (errno == EINTR) continue;
    if (errno == EAGAIN && Clock::now() < deadline) {  // its queue of callers is full
      ::poll(nullptr, 0, 20);
      continue;
    }
    if (errno == EAGAIN) return too_late();
    if (errno == ENOENT || errno == ECONNREFUSED || errno == ENOTDIR) {
      return Error{ErrorCode::unreachable,
                   "no daemon listens at " + socket + "; start it, or name its socket"};
    }
    if (errno == EACCES || errno == EPERM) {
      return Error{ErrorCode::denied, "the control socket " + socket +
                                          " may be used by root, the daemon's account "
                                          "and the socket's group only"};
    }
    return failed(socket, errno);
  }
  return {};
}

domain::Result<void> send_all(int fd, std::string_view text, const std::string& socket,
                              Clock::time_point deadline) {
  while (!text.empty()) {
    const ssize_t sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      text.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (!wait_for(fd, POLLOUT, deadline)) return too_late();
    } else if (errno == EPIPE || errno == ECONNRESET) {
      return {};  // closed by the other side, which may have said why
    } else if (errno != EINTR) {
      return failed(socket, errno);
    }
  }
  return {};
}

domain::Result<std::string> receive_line(int fd, const std::string& socket, Clock::time_point deadline) {
  std::string line;
  std::array<char, 16'384> buffer{};
  for (;;) {
    const ssize_t count = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (count > 0) {
      line.append(buffer.data(), static_cast<std::size_t>(count));
      if (line.ends_with('\n')) {
        line.pop_back();
        return line;
      }
      if (line.size() <= daemon::kLargestControlResponse + 1) continue;
      return Error{ErrorCode::bad_response, "the daemon's answer is larger than 64 MiB"};
    }
    if (count == 0 || errno == ECONNRESET) {
      return Error{ErrorCode::denied,
                   "the daemon closed the connection without an answer; its log says whether it "
                   "refused this account"};
    }
    if (errno != EAGAIN && errno != EINTR) return failed(socket, errno);
    if (!wait_for(fd, POLLIN, deadline)) return too_late();
  }
}

}  // namespace

domain::Result<std::string> ask(const std::string& socket, std::string_view request,
                                std::chrono::milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  const Descriptor connection(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (connection.get() < 0) return failed(socket, errno);
  if (auto connected = connect_to(connection.get(), socket, deadline); !connected) return connected.error();
  if (auto sent = send_all(connection.get(), std::string(request) + "\n", socket, deadline); !sent) {
    return sent.error();
  }
  auto line = receive_line(connection.get(), socket, deadline);
  if (!line) return line.error();
  return daemon::control_outcome(*line);
}

}  // namespace agent::cli
