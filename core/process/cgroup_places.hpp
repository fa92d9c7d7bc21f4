// Where this daemon may make cgroups.
#pragma once

#include <string>
#include <string_view>

namespace agent::process {

// Existing directories below which this account may make groups; empty: none. Ours is `name` in each of them,
// made when it is first needed.
struct CgroupPlaces {
  std::string name;
  std::string unified;            // cgroup v2
  std::string cpu, memory, pids;  // cgroup v1, by controller
};

// `mountinfo` and `own` are the texts of /proc/self/mountinfo and /proc/self/cgroup. Of each hierarchy the
// top is taken if it can be written, because a path there does not depend on where a daemon was started; else
// the group that the daemon itself runs in, which is what a service manager delegates.
CgroupPlaces find_cgroups(std::string name, std::string_view mountinfo, std::string_view own);

// Of this machine, for this process.
CgroupPlaces own_cgroups(std::string name);

}  // namespace agent::process
