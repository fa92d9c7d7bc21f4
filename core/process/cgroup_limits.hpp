// How limits are written down for the kernel.
#pragma once

#include <string>
#include <vector>

#include "process/process.hpp"

namespace agent::process {

enum class Controller { cpu, memory, pids };
inline constexpr Controller controllers[] = {Controller::cpu, Controller::memory, Controller::pids};
const char* name_of(Controller controller);
std::int64_t asked_of(const Limits& limits, Controller controller);

// One line for one file of a group. The files of `optional` ones exist only in kernels that count swap, and
// without swap there is nothing to limit in them.
struct Setting {
  std::string file, value;
  bool optional = false;
  bool operator==(const Setting&) const = default;
};
// What sets one limit of a group, in this order; nothing if none is asked for.
std::vector<Setting> unified_settings(Controller controller, const Limits& limits);
std::vector<Setting> legacy_settings(Controller controller, const Limits& limits);

// 0, or the errno of the first that failed; `failed` names its file.
int write_settings(int group, const std::vector<Setting>& settings, std::string& failed);

// The controllers that cgroup.controllers of the group offers.
std::vector<Controller> offered(int group);
// Hands them down to the groups below; 0 or an errno. EBUSY: processes live in the group itself.
int hand_down(int group, const std::vector<Controller>& wanted);

}  // namespace agent::process
