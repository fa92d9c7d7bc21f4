#include "process/shim/io.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>

namespace agent::process::shim {
namespace {

std::int64_t clock_ms(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

Read read_bytes(int gate, int signals, std::int64_t deadline, char* bytes, std::size_t size) {
  std::size_t have = 0;
  while (have < size) {
    const std::int64_t left = deadline - boot_ms();
    if (left <= 0) return Read::timeout;
    pollfd fds[2] = {{gate, POLLIN, 0}, {signals, POLLIN, 0}};
    if (::poll(fds, 2, static_cast<int>(std::min<std::int64_t>(left, 60'000))) < 0) {
      if (errno == EINTR) continue;
      return Read::invalid;
    }
    if (fds[1].revents != 0) {
      signalfd_siginfo info{};
      if (::read(signals, &info, sizeof info) == static_cast<ssize_t>(sizeof info) &&
          info.ssi_signo != SIGCHLD) {
        return Read::signalled;
      }
    }
    if (fds[0].revents == 0) continue;
    const ssize_t count = ::read(gate, bytes + have, size - have);
    if (count == 0) return Read::closed;
    if (count < 0) {
      if (errno == EINTR || errno == EAGAIN) continue;
      return Read::closed;
    }
    have += static_cast<std::size_t>(count);
  }
  return Read::done;
}

}  // namespace

std::int64_t boot_ms() { return clock_ms(CLOCK_BOOTTIME); }
std::int64_t wall_ms() { return clock_ms(CLOCK_REALTIME); }

int write_all(int fd, const void* bytes, std::size_t size) {
  const char* from = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t count = ::write(fd, from, size);
    if (count < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    from += count;
    size -= static_cast<std::size_t>(count);
  }
  return 0;
}

int write_file(int directory, const char* draft, const char* name, const char* bytes, std::size_t size) {
  // The draft may exist already with its space taken, so it is overwritten in place and not truncated.
  const int fd = ::openat(directory, draft, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return errno;
  int failure = write_all(fd, bytes, size);
  if (failure == 0 && ::fsync(fd) != 0) failure = errno;
  ::close(fd);
  if (failure == 0 && ::renameat(directory, draft, directory, name) != 0) failure = errno;
  if (failure == 0 && ::fsync(directory) != 0) failure = errno;
  return failure;
}

std::ptrdiff_t read_file(int directory, const char* name, char* bytes, std::size_t capacity) {
  const int fd = ::openat(directory, name, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  const ssize_t count = ::read(fd, bytes, capacity - 1);
  ::close(fd);
  if (count < 0) return -1;
  bytes[count] = 0;
  return count;
}

void send_frame(int gate, wire::Kind kind, const void* payload, std::size_t size) {
  char bytes[sizeof(wire::Frame) + sizeof(wire::Failure)];
  if (size > sizeof(wire::Failure)) return;
  const wire::Frame frame{wire::magic, wire::version, static_cast<std::uint16_t>(kind),
                          static_cast<std::uint32_t>(size)};
  __builtin_memcpy(bytes, &frame, sizeof frame);
  if (size > 0) __builtin_memcpy(bytes + sizeof frame, payload, size);
  while (::send(gate, bytes, sizeof frame + size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno == EINTR) {
  }
}

Read read_frame(int gate, int signals, std::int64_t deadline, wire::Kind kind, char* payload,
                std::size_t capacity, std::size_t& size) {
  wire::Frame frame{};
  const Read head = read_bytes(gate, signals, deadline, reinterpret_cast<char*>(&frame), sizeof frame);
  if (head != Read::done) return head;
  if (frame.magic != wire::magic || frame.version != wire::version ||
      frame.kind != static_cast<std::uint16_t>(kind) || frame.size > capacity) {
    return Read::invalid;
  }
  size = frame.size;
  return read_bytes(gate, signals, deadline, payload, size);
}

}  // namespace agent::process::shim
