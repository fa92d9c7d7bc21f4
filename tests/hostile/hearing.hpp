// Hears what hostile jobs report.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace hostile {

// Listens on a loopback port of its own until it is destroyed.
class Hearing {
 public:
  Hearing();
  ~Hearing();
  Hearing(const Hearing&) = delete;
  Hearing& operator=(const Hearing&) = delete;

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::vector<std::string> lines() const;
  [[nodiscard]] std::size_t count(const std::string& beginning) const;

 private:
  void listen();

  int socket_ = -1;
  int port_ = 0;
  std::atomic<bool> over_{false};
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
  std::thread thread_;
};

}  // namespace hostile
