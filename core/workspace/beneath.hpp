// Opening one entry of a directory without following a link and without entering another mount.
#pragma once

#include <cstdint>
#include <optional>

#include "workspace/handle.hpp"
#include "workspace/removal.hpp"

namespace agent::workspace {

class Beneath {
 public:
  // `top` is a directory on the mount that must not be left.
  static domain::Result<Beneath> make(int top, Resolve resolve);

  // -1 with errno: EXDEV for another mount, ELOOP or ENOTDIR for a link where a directory is wanted.
  // O_NOFOLLOW and O_CLOEXEC are added.
  Fd open(int directory, const char* name, int flags) const;
  [[nodiscard]] bool by_kernel() const { return by_kernel_; }

 private:
  bool by_kernel_ = false;
  std::uint64_t mount_ = 0;
};

// The id of the mount that `fd` was opened on.
std::optional<std::uint64_t> mount_id(int fd);

}  // namespace agent::workspace
