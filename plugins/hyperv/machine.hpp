// What this machine offers to Windows containers with hypervisor isolation.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>

namespace hyperv {

enum class Presence { present, absent, unknown };

struct Features {
  bool windows = false;
  // Optional features of Windows, as it names their state itself.
  Presence hyper_v = Presence::unknown;
  Presence containers = Presence::unknown;
};

// Asks the system. Elsewhere than on Windows nothing is there; there it may take seconds.
Features look_at_machine();

// What keeps containers from running here, and what to do, in one sentence; nothing if nothing is known to.
std::optional<std::string> missing_feature(const Features& features);

// Thread-safe. What was there once stays there until a restart of the machine, so it is not asked for again.
class Machine {
 public:
  using Look = std::function<Features()>;
  explicit Machine(Look look) : look_(std::move(look)) {}
  Features features();

 private:
  Look look_;
  std::mutex mutex_;
  std::optional<Features> known_;
};

}  // namespace hyperv
