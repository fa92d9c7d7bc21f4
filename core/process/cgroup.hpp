// One cgroup v2 directory per key, with a leaf for the shim and one for the job.
#pragma once

#include <string>
#include <string_view>

#include "process/fd.hpp"
#include "process/process.hpp"

namespace agent::process {

// Thread-safe. Without a root every question answers "there is no group".
class Cgroups {
 public:
  static Result<Cgroups> open(const std::string& root);

  [[nodiscard]] bool enabled() const { return static_cast<bool>(root_); }
  [[nodiscard]] std::string path(std::string_view key) const;  // empty without a root

  [[nodiscard]] Result<void> make(std::string_view key) const;
  // Whether anything lives in the group. A group that does not exist is empty.
  [[nodiscard]] Result<bool> populated(std::string_view key) const;
  // Kills all of the group, the shim included, and waits at most `timeout` until it is empty; busy otherwise.
  [[nodiscard]] Result<void> kill(std::string_view key, domain::Millis timeout) const;
  // Removes the empty group and what a job made below it.
  [[nodiscard]] Result<void> remove(std::string_view key) const;

 private:
  Cgroups(Fd root, std::string path) : root_(std::move(root)), path_(std::move(path)) {}
  Fd root_;
  std::string path_;
};

}  // namespace agent::process
