#include "daemon/service_manager.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace agent::daemon {

namespace {

std::string take(const char* name) {
  const char* value = ::getenv(name);
  std::string taken = value == nullptr ? "" : value;
  ::unsetenv(name);
  return taken;
}

std::int64_t number(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value > 0 ? value : 0;
}

}  // namespace

ServiceManager ServiceManager::from_environment() {
  const std::string socket = take("NOTIFY_SOCKET");
  const std::string patience_us = take("WATCHDOG_USEC");
  const std::string watched = take("WATCHDOG_PID");
  const bool ours = watched.empty() || number(watched) == ::getpid();
  const std::int64_t patience_ms = ours ? number(patience_us) / 1000 : 0;
  return {socket, domain::Millis{patience_ms == 0 ? 0 : std::max<std::int64_t>(patience_ms / 3, 1)}};
}

void ServiceManager::send(std::string_view line) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const bool absent = socket_.empty() || (socket_.front() != '/' && socket_.front() != '@');
  if (absent || socket_.size() >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (socket_.front() == '@') address.sun_path[0] = '\0';
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  (void)::sendto(fd, line.data(), line.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address),
                 length);
  ::close(fd);
}

}  // namespace agent::daemon
