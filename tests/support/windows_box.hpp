// One container of the scripted Windows engine: what was asked for, what is copied into it, and its program,
// which runs natively.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace scripted {

struct Wanted {
  std::string name, image, platform;
  std::vector<std::string> entrypoint, command, environment;
  std::map<std::string, std::string> labels;
};

// Thread-safe.
class Box {
 public:
  enum class State { created, running, exited };

  // `disk`: an empty directory of its own, which stands for C:\.
  Box(std::string id, Wanted wanted, std::string disk);
  ~Box();  // ends what runs
  Box(const Box&) = delete;
  Box& operator=(const Box&) = delete;

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] const Wanted& wanted() const { return wanted_; }
  [[nodiscard]] const std::string& disk() const { return disk_; }
  [[nodiscard]] State state() const;
  [[nodiscard]] std::int64_t exit_code() const;

  // False if it ran already. With the bootstrap as its program it waits for a line of input then.
  bool start();
  // As the bootstrap does with a line of input: waits until it was started and starts the listener with it.
  // False if it ended before.
  bool take(const std::string& line);
  // SIGTERM asks the program to end, SIGKILL ends it. False if it does not run.
  bool signal(int number);
  void wait();
  // Ends it also if it was never started.
  void discard();

 private:
  void run(const std::vector<std::string>& words, const std::string& jit);  // with the lock
  void end(std::int64_t code);                                              // with the lock
  [[nodiscard]] std::string native(const std::string& path) const;

  std::string id_;
  Wanted wanted_;
  std::string disk_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::created;
  std::int64_t exit_code_ = 0;
  pid_t pid_ = -1;
  std::thread reaper_;
};

}  // namespace scripted
