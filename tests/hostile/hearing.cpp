#include "hostile/hearing.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <stdexcept>

namespace hostile {

Hearing::Hearing() {
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(socket_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(socket_, 64) != 0 ||
      ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("no port to hear hostile jobs on");
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { listen(); });
}

Hearing::~Hearing() {
  over_ = true;
  thread_.join();
  ::close(socket_);
}

std::vector<std::string> Hearing::lines() const {
  const std::lock_guard lock(mutex_);
  return lines_;
}

std::size_t Hearing::count(const std::string& beginning) const {
  const auto all = lines();
  return static_cast<std::size_t>(std::count_if(
      all.begin(), all.end(), [&](const std::string& line) { return line.starts_with(beginning); }));
}

void Hearing::listen() {
  constexpr std::size_t most_lines = 10'000;
  std::map<int, std::string> unfinished;  // by connection
  while (!over_) {
    std::vector<pollfd> all = {{socket_, POLLIN, 0}};
    for (const auto& [fd, text] : unfinished)
      all.push_back({fd, POLLIN, 0});
    if (::poll(all.data(), all.size(), 50) <= 0) continue;
    for (std::size_t at = 1; at < all.size(); ++at) {
      if (all[at].revents == 0) continue;
      char buffer[4096];
      const ssize_t got = ::read(all[at].fd, buffer, sizeof buffer);
      if (got <= 0) {
        ::close(all[at].fd);
        unfinished.erase(all[at].fd);
        continue;
      }
      std::string& text = unfinished[all[at].fd].append(buffer, static_cast<std::size_t>(got));
      const std::lock_guard lock(mutex_);
      for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
        if (lines_.size() < most_lines) lines_.push_back(text.substr(0, end));
      }
    }
    if (all[0].revents != 0) {
      const int fd = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd >= 0) unfinished.emplace(fd, "");
    }
  }
  for (const auto& [fd, text] : unfinished)
    ::close(fd);
}

}  // namespace hostile
