#include "daemon/control_socket.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

namespace agent::daemon {
namespace {

using domain::Error;
using domain::ErrorCode;

constexpr int kBacklog = 16;
constexpr std::size_t kMostGroups = 1024;

Error failed(const std::string& what, const std::string& path, int error) {
  const bool denied = error == EACCES || error == EPERM || error == EROFS;
  return {denied ? ErrorCode::denied : ErrorCode::invalid,
          what + " " + path + ": " + std::generic_category().message(error)};
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

domain::Result<void> check_directory(const std::string& directory) {
  if (::mkdir(directory.c_str(), 0750) != 0 && errno != EEXIST) {
    return failed("the control socket's directory cannot be made:", directory, errno);
  }
  struct stat status {};
  if (::lstat(directory.c_str(), &status) != 0) {
    return failed("the control socket's directory cannot be looked at:", directory, errno);
  }
  if (!S_ISDIR(status.st_mode)) {
    return Error{ErrorCode::invalid, "the control socket needs a directory, and no link, at " + directory};
  }
  const bool ours = status.st_uid == 0 || status.st_uid == ::geteuid();
  if (!ours || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Error{ErrorCode::denied, "others can write the control socket's directory " + directory +
                                        "; make it ours and run: chmod go-w " + directory};
  }
  return {};
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof(address.sun_path) - 1));
  return address;
}

// A refused connection proves that nobody listens; any other answer does not.
bool nobody_listens(const std::string& path) {
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return false;
  const sockaddr_un address = address_of(path);
  const bool refused = ::connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 &&
                       errno == ECONNREFUSED;
  ::close(probe);
  return refused;
}

domain::Result<void> make_room(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};
    return failed("the control socket cannot be looked at:", path, errno);
  }
  if (!S_ISSOCK(status.st_mode)) {
    return Error{ErrorCode::exists, "something else stands where the control socket belongs: " + path +
                                        "; remove it or set control.socket"};
  }
  if (!nobody_listens(path)) {
    return Error{ErrorCode::busy, "another daemon answers at the control socket " + path +
                                      "; stop it, or set another state directory and control.socket"};
  }
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return failed("a dead daemon's control socket cannot be removed:", path, errno);
  }
  return {};
}

}  // namespace

domain::Result<ControlSocket> ControlSocket::listen(const std::string& path) {
  if (!path.starts_with('/') || path.size() >= sizeof(sockaddr_un::sun_path)) {
    return Error{ErrorCode::invalid, "the control socket needs an absolute path of at most 107 bytes"};
  }
  if (auto fit = check_directory(parent_of(path)); !fit) return fit.error();
  if (auto room = make_room(path); !room) return room.error();
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return failed("the control socket cannot be made:", path, errno);
  ControlSocket socket(fd, path);
  // bind() takes the mode from the socket, so the file is never wider than this, whatever the umask is.
  if (::fchmod(fd, 0660) != 0) return failed("the control socket cannot be protected:", path, errno);
  const sockaddr_un address = address_of(path);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return failed("the control socket cannot be made:", path, errno);
  }
  if (auto known = socket.remember_file(); !known) return known.error();
  if (::chmod(path.c_str(), 0660) != 0) return failed("the control socket cannot be protected:", path, errno);
  if (::listen(fd, kBacklog) != 0) return failed("the control socket cannot listen:", path, errno);
  return socket;
}

domain::Result<void> ControlSocket::remember_file() {
  struct stat status {};
  if (::lstat(path_.c_str(), &status) != 0) {
    return failed("the control socket cannot be looked at:", path_, errno);
  }
  device_ = status.st_dev;
  inode_ = status.st_ino;
  group_ = status.st_gid;
  return {};
}

ControlSocket::ControlSocket(ControlSocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      device_(other.device_),
      inode_(std::exchange(other.inode_, 0)),
      group_(other.group_) {}

ControlSocket& ControlSocket::operator=(ControlSocket&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  std::swap(device_, other.device_);
  std::swap(inode_, other.inode_);
  std::swap(group_, other.group_);
  return *this;
}

// Only our own file is removed: a later daemon may have put its own there.
ControlSocket::~ControlSocket() {
  struct stat status {};
  if (inode_ != 0 && ::lstat(path_.c_str(), &status) == 0 && status.st_dev == device_ &&
      status.st_ino == inode_) {
    ::unlink(path_.c_str());
  }
  if (fd_ >= 0) ::close(fd_);
}

int ControlSocket::release() { return std::exchange(fd_, -1); }

bool peer_allowed(int fd, gid_t group) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  if (peer.uid == 0 || peer.uid == ::geteuid() || peer.gid == group) return true;
  std::vector<gid_t> groups(kMostGroups);
  size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) != 0) return false;
  groups.resize(size / sizeof(gid_t));
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

}  // namespace agent::daemon
