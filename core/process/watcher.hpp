// Tells once when a watched process ended.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "process/fd.hpp"
#include "process/process.hpp"

namespace agent::process {

// One thread, which waits on the handles and calls `on_exit`. Thread-safe.
class ExitWatcher {
 public:
  static Result<std::unique_ptr<ExitWatcher>> create(std::function<void(std::string key)> on_exit);
  ~ExitWatcher();
  ExitWatcher(const ExitWatcher&) = delete;
  ExitWatcher& operator=(const ExitWatcher&) = delete;

  // Watches the process of a key; does nothing if that very process is watched already.
  Result<void> watch(std::string_view key, const ProcessIdentity& identity, Fd pidfd);
  // Whether a watched process of the key still runs; one whose end is only not told yet does not.
  [[nodiscard]] bool runs(std::string_view key) const;

 private:
  struct Entry {
    std::string key;
    ProcessIdentity identity;
    Fd pidfd;
  };
  ExitWatcher(Fd epoll, Fd wake, std::function<void(std::string key)> on_exit);
  void run();
  void fire(std::uint64_t id);

  Fd epoll_;
  Fd wake_;
  std::function<void(std::string key)> on_exit_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Entry> entries_;
  std::uint64_t next_ = 1;
  std::thread thread_;
};

}  // namespace agent::process
