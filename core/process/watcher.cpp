#include "process/watcher.hpp"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "process/identity.hpp"

namespace agent::process {
namespace {

using domain::Error;
using domain::ErrorCode;

constexpr std::uint64_t wake_id = 0;

bool add(int epoll, int fd, std::uint64_t id) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = id;
  return ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

Result<std::unique_ptr<ExitWatcher>> ExitWatcher::create(std::function<void(std::string key)> on_exit) {
  Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  Fd wake(::eventfd(0, EFD_CLOEXEC));
  if (!epoll || !wake || !add(epoll.get(), wake.get(), wake_id)) {
    return Error{ErrorCode::retry, std::string("Processes cannot be watched: ") + std::strerror(errno) + "."};
  }
  return std::unique_ptr<ExitWatcher>(new ExitWatcher(std::move(epoll), std::move(wake), std::move(on_exit)));
}

ExitWatcher::ExitWatcher(Fd epoll, Fd wake, std::function<void(std::string key)> on_exit)
    : epoll_(std::move(epoll)), wake_(std::move(wake)), on_exit_(std::move(on_exit)) {
  // Signals are for the program's own threads.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  thread_ = std::thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ExitWatcher::~ExitWatcher() {
  const std::uint64_t one = 1;
  while (::write(wake_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
  thread_.join();
}

Result<void> ExitWatcher::watch(std::string_view key, const ProcessIdentity& identity, Fd pidfd) {
  const std::lock_guard lock(mutex_);
  const bool known = std::any_of(entries_.begin(), entries_.end(), [&](const auto& entry) {
    return entry.second.key == key && entry.second.identity == identity;
  });
  if (known) return {};
  const std::uint64_t id = next_++;
  if (!add(epoll_.get(), pidfd.get(), id)) {
    return Error{ErrorCode::retry, std::string("A process cannot be watched: ") + std::strerror(errno) + "."};
  }
  entries_.emplace(id, Entry{std::string(key), identity, std::move(pidfd)});
  return {};
}

bool ExitWatcher::runs(std::string_view key) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(entries_.begin(), entries_.end(), [&](const auto& entry) {
    return entry.second.key == key && !ended(entry.second.pidfd, domain::Millis(0));
  });
}

void ExitWatcher::run() {
  for (;;) {
    epoll_event events[64];
    const int count = ::epoll_wait(epoll_.get(), events, 64, -1);
    for (int i = 0; i < count; ++i) {
      if (events[i].data.u64 == wake_id) return;
      fire(events[i].data.u64);
    }
  }
}

void ExitWatcher::fire(std::uint64_t id) {
  Entry entry;
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(id);
    if (found == entries_.end()) return;
    entry = std::move(found->second);
    entries_.erase(found);
  }
  ended(entry.pidfd, domain::Millis(0));
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, entry.pidfd.get(), nullptr);
  on_exit_(std::move(entry.key));
}

}  // namespace agent::process
