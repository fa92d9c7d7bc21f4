// What belongs to the whole process, so that a plugin that changes it changes it for the daemon and for all
// others.
#pragma once

#include <sys/types.h>

#include <array>
#include <csignal>
#include <string>
#include <vector>

#include "domain/result.hpp"

namespace agent::plugin {

// Remembers how things are when it is made. For one thread.
class Surroundings {
 public:
  Surroundings();
  ~Surroundings();
  Surroundings(const Surroundings&) = delete;
  Surroundings& operator=(const Surroundings&) = delete;

  // invalid: the first thing that is not as it was.
  [[nodiscard]] domain::Result<void> check() const;

 private:
  static constexpr int kSignals = 32;  // the real-time ones are for whoever takes them
  struct Descriptor {
    int fd = -1;
    ino_t inode = 0;
  };
  using Handler = void (*)(int);

  [[nodiscard]] const char* changed() const;

  std::array<Descriptor, 16> descriptors_{};  // as the daemon has many
  std::array<Handler, kSignals> handlers_{};
  sigset_t mask_{};
  mode_t umask_ = 0;
  std::string directory_;
  std::string locale_;
  std::vector<std::string> environment_;
};

}  // namespace agent::plugin
