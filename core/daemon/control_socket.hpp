// The file side of the control socket: where it may stand, what stood there before, who may speak.
#pragma once

#include <sys/types.h>

#include <string>

#include "domain/result.hpp"

namespace agent::daemon {

// A listening unix socket and the file that names it; both end with the object.
class ControlSocket {
 public:
  // Makes the directory (0750) if only it is missing; refuses one that others can write. The socket is 0660.
  // A file that a dead daemon left is replaced; where a daemon answers: busy.
  static domain::Result<ControlSocket> listen(const std::string& path);
  ControlSocket(ControlSocket&& other) noexcept;
  ControlSocket& operator=(ControlSocket&& other) noexcept;
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;
  ~ControlSocket();

  [[nodiscard]] int fd() const { return fd_; }
  // Hands the descriptor over; the file is still removed with the object.
  [[nodiscard]] int release();
  [[nodiscard]] gid_t group() const { return group_; }

 private:
  ControlSocket(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  domain::Result<void> remember_file();

  int fd_ = -1;
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  gid_t group_ = 0;
};

// True for root, this account, and members of `group`.
bool peer_allowed(int fd, gid_t group);

}  // namespace agent::daemon
