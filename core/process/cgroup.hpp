// The groups of each key: one cgroup v2 directory with a leaf for the shim and one for the job, and one more
// in each cgroup v1 hierarchy whose limit is asked for.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "process/cgroup_limits.hpp"
#include "process/process.hpp"

namespace agent::process {

// What a shim is told.
struct Group {
  std::string unified;               // the directory with the two leaves; empty: none
  std::vector<std::string> limited;  // directories that the job enters besides
};

// Thread-safe. Without places every question answers "there is no group". Directories are named anew at each
// use, because an earlier daemon of this installation may take away ours when it ends.
class Cgroups {
 public:
  static Result<Cgroups> open(CgroupPlaces places);

  // Whether a tree is held together by a group.
  [[nodiscard]] bool enabled() const { return !places_.unified.empty(); }
  [[nodiscard]] bool limits(Controller controller) const;

  // `unsupported` for a limit that nothing here enforces.
  [[nodiscard]] Result<Group> make(std::string_view key, const Limits& limits) const;
  // Whether anything lives in a group of the key. A group that does not exist is empty.
  [[nodiscard]] Result<bool> populated(std::string_view key) const;
  // Kills all of the groups, the shim included, and waits at most `timeout` until they are empty; busy
  // otherwise.
  [[nodiscard]] Result<void> kill(std::string_view key, domain::Millis timeout) const;
  // Removes the empty groups and what a job made below them.
  [[nodiscard]] Result<void> remove(std::string_view key) const;
  // Removes our own directories as far as they are empty.
  void remove_ours() const;

 private:
  explicit Cgroups(CgroupPlaces places) : places_(std::move(places)) {}
  [[nodiscard]] std::string ours(const std::string& place) const { return place + '/' + places_.name; }
  [[nodiscard]] std::string unified_group(std::string_view key) const {
    return ours(places_.unified) + '/' + std::string(key);
  }
  [[nodiscard]] const std::string& legacy(Controller controller) const;
  [[nodiscard]] std::vector<std::string> legacy_groups(std::string_view key) const;  // each once
  [[nodiscard]] Result<void> make_unified(std::string_view key, const Limits& limits) const;
  [[nodiscard]] Result<void> make_legacy(std::string_view key, const Limits& limits, Group& group) const;

  CgroupPlaces places_;
  std::vector<Controller> unified_;  // those that cgroup v2 limits here
};

}  // namespace agent::process
