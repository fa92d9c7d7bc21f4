// Everything that descends from the shim: counted, signalled and reaped until nothing is left.
#pragma once

#include <dirent.h>
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "process/protocol.hpp"

namespace agent::process::shim {

struct TreeEntry {
  pid_t pid;
  pid_t parent;
  std::uint64_t start;
  bool ours;
};

class Tree {
 public:
  // Directories of the job's cgroups, -1 for none: of cgroup v2 first, then of cgroup v1.
  using Groups = std::array<int, 1 + wire::max_limited>;
  // `room` is scratch space.
  Tree(DIR* proc, const Groups& groups, TreeEntry* room, std::size_t capacity)
      : proc_(proc), groups_(groups), room_(room), capacity_(capacity) {}

  void set_main(pid_t main) { main_ = main; }
  [[nodiscard]] bool main_ended() const { return main_ended_; }
  [[nodiscard]] int main_status() const { return main_status_; }

  // Reaps what is dead. True once no child is left, which proves that no descendant is: the shim is a
  // subreaper, so each chain of living descendants ends in a child of its own.
  bool reap();
  // Asks the main child's process group to end.
  void ask();
  // Kills every descendant that it sees. New ones may appear meanwhile: call again until reap() answers true.
  void kill();
  // True if the kernel ended something of the job's cgroups because memory ran out.
  [[nodiscard]] bool out_of_memory() const;

 private:
  std::size_t scan();
  void mark(std::size_t count);
  DIR* proc_;
  Groups groups_;
  TreeEntry* room_;
  std::size_t capacity_;
  pid_t main_ = -1;
  bool main_ended_ = false;
  int main_status_ = 0;
};

}  // namespace agent::process::shim
