#include "support/small_disk.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "support/agent.hpp"

namespace testkit {

namespace {

// What it printed, if it failed.
std::string failure_of(const std::string& command) {
  int exit_code = 0;
  const std::string said = run_program({"/bin/sh", "-c", command + " 2>&1"}, &exit_code);
  return exit_code == 0 ? std::string() : command + ": " + said;
}

}  // namespace

SmallDisk::SmallDisk(std::string directory, Kind kind, int mebibytes)
    : directory_(std::move(directory)), kind_(kind), mebibytes_(mebibytes) {
  std::filesystem::create_directory(directory_);
  if (kind_ == Kind::ext4) {
    why_not_ = failure_of("truncate -s " + std::to_string(mebibytes_) + "M " + image() +
                          " && /sbin/mkfs.ext4 -q -m 0 -O ^has_journal " + image());
  }
  if (why_not_.empty()) mount();
  if (why_not_.empty()) std::filesystem::permissions(directory_, std::filesystem::perms(0700));
}

SmallDisk::~SmallDisk() {
  if (why_not_.empty()) ::umount2(directory_.c_str(), MNT_DETACH);
}

void SmallDisk::mount() {
  if (kind_ == Kind::ext4) {
    why_not_ = failure_of("mount -o loop " + image() + " " + directory_);
    return;
  }
  const std::string size = "mode=0700,size=" + std::to_string(mebibytes_) + "m";
  if (::mount("small-disk", directory_.c_str(), "tmpfs", 0, size.c_str()) != 0)
    why_not_ = std::string("mount of a tmpfs: ") + std::strerror(errno);
}

void SmallDisk::fill() const {
  const int file = ::open(ballast().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  static constexpr std::array<char, 65536> block{};
  for (std::size_t size = block.size(); size >= 512;) {
    if (::write(file, block.data(), size) < static_cast<ssize_t>(size)) size /= 2;
  }
  ::close(file);
}

void SmallDisk::empty() const { std::filesystem::remove(ballast()); }

bool SmallDisk::set_read_only(bool on) const {
  return ::mount(nullptr, directory_.c_str(), nullptr, on ? MS_REMOUNT | MS_RDONLY : MS_REMOUNT, nullptr) ==
         0;
}

bool SmallDisk::abort() const { return failure_of("mount -o remount,abort " + directory_).empty(); }

bool SmallDisk::repair() {
  ::umount2(directory_.c_str(), MNT_DETACH);
  // Whoever still has something open there keeps the old one alive, and a second mount of its file would be
  // the same. 1 stands for errors that were corrected.
  const std::string old = image() + ".old";
  why_not_ = failure_of("mv " + image() + " " + old + " && cp " + old + " " + image() +
                        " && { /sbin/e2fsck -fy " + image() + "; [ $? -le 1 ]; }");
  if (why_not_.empty()) mount();
  return why_not_.empty();
}

}  // namespace testkit
