#include "workspace/filesystem.hpp"

#include <algorithm>
#include <array>

namespace agent::workspace {

namespace {

// From the kernel's headers and, where those have none, the filesystems' own sources.
constexpr std::array<std::uint64_t, 14> kLocal{
    0xEF53,      // ext2, ext3, ext4
    0x58465342,  // XFS
    0x9123683E,  // btrfs
    0x01021994,  // tmpfs
    0x858458F6,  // ramfs
    0x794C7630,  // overlayfs
    0x2FC12FC1,  // ZFS
    0xF2F52010,  // F2FS
    0xCA451A4E,  // bcachefs
    0x3153464A,  // JFS
    0x52654973,  // ReiserFS
    0x3434,      // NILFS
    0xF15F,      // eCryptfs
    0x24051905,  // UBIFS
};

constexpr std::array<std::uint64_t, 18> kRemote{
    0x6969,      // NFS
    0x517B,      // SMB
    0xFF534D42,  // CIFS
    0xFE534D42,  // SMB2
    0x65735546,  // FUSE
    0x01021997,  // 9p
    0x00C36400,  // Ceph
    0x5346414F,  // AFS
    0x6B414653,  // kAFS
    0x73757245,  // Coda
    0x7461636F,  // OCFS2
    0x01161970,  // GFS2
    0x0BD00BD0,  // Lustre
    0x47504653,  // GPFS
    0x19830326,  // BeeGFS
    0x564C,      // NCP
    0x786F4256,  // VirtualBox shared folder
    0xBACBACBC,  // VMware shared folder
};

}  // namespace

FilesystemKind filesystem_kind(std::uint64_t magic) {
  const auto has = [magic](const auto& list) {
    return std::find(list.begin(), list.end(), magic) != list.end();
  };
  if (has(kLocal)) return FilesystemKind::local;
  return has(kRemote) ? FilesystemKind::remote : FilesystemKind::unknown;
}

}  // namespace agent::workspace
