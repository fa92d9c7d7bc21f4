// What rmgr-shim and the host side agree on: the frames on the gate, the signals, and the files they leave
// for each other. Plain constants and structs, because the shim links nothing of ours.
//
// The gate is a stream socket pair; the shim's end is its standard input. Each message is a Frame followed by
// `size` bytes. Both ends run on one machine, so integers are in its own byte order. A shim and a daemon of
// different versions never share a gate beyond the first frame; across versions only signals and files are
// used.
//
//   host -> shim  launch   LaunchHeader, ResourceLimit..., then strings each ended by a zero byte: record
//   root,
//                          key, cgroup (empty: none), directory, arguments..., environment..., limited
//                          cgroups..., hidden directories..., private directories (target, backing)...
//   shim -> host  ready    nothing: the shim is at its gate and holds all it needs but the secret
//   host -> shim  release  secret name, a zero byte, the secret (not ended by a zero)
//   shim -> host  started  nothing: the child executed
//   shim -> host  failed   Failure: nothing ran
//
// Files in <record root>/<key>/ (0700, files 0600, all of the daemon's account). Text lines "name value".
//   released  empty; made by the host before it sends the secret. A shim that lives without a `child` file
//   and
//             with this mark is between gate and start
//   child     made durable by the shim before the child may execute: "rmgr-child 1", pid, start (token of the
//   pid),
//             uid, boot. Removed again if the execution failed, so it stands for "something may have run"
//   exit      made durable by the shim once nothing of the tree is left: "rmgr-exit 1", code, signal (one of
//   both
//             is 0), oom (0 or 1), ran_ms, ended_ms (wall clock since 1970). Padded with empty lines to
//             exit_size: its space is taken before the child runs, so a disk that the job filled does not
//             lose it
//
// A cgroup of a key is a directory with two leaves: `shim` for the shim itself and `job` for everything it
// starts, so that ending the job's group does not end the one who records it. Limits are set on the `job`
// leaf, or on a directory of the key in each cgroup v1 hierarchy (the "limited" ones), which only the child
// enters: a job that uses up its memory does not take the shim along.
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>

namespace agent::process::wire {

inline constexpr std::uint32_t magic = 0x314D4752;  // "RGM1"
inline constexpr std::uint16_t version = 2;

inline constexpr std::size_t max_launch = std::size_t{1} << 20U;
inline constexpr std::size_t max_arguments = 256;
inline constexpr std::size_t max_environment = 2048;
inline constexpr std::size_t max_limited = 3;
inline constexpr std::size_t max_resource_limits = 16;
inline constexpr std::size_t max_directories = 64;  // hidden ones, and private ones
inline constexpr std::size_t max_secret_name = 128;
inline constexpr std::size_t max_secret = 65536;
inline constexpr std::size_t max_release = max_secret_name + 1 + max_secret;

enum class Kind : std::uint16_t { launch = 1, ready = 2, release = 3, started = 4, failed = 5 };

struct Frame {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t kind;
  std::uint32_t size;
};

struct LaunchHeader {
  std::int64_t uid;  // -1: stay who the shim is
  std::int64_t gid;
  std::uint32_t gate_timeout_ms;
  std::uint32_t argument_count;
  std::uint32_t environment_count;
  std::uint32_t time_limit_ms;  // from the start to the end of the whole tree; 0: none
  std::uint32_t limited_count;
  std::uint32_t resource_limit_count;
  std::uint32_t hidden_count;
  std::uint32_t private_count;
  std::int32_t nice;  // 0: as the shim
  std::uint32_t flags;
};
inline constexpr std::uint32_t no_new_privileges = 1;

struct ResourceLimit {
  std::uint64_t value;
  std::int32_t resource;  // RLIMIT_*
  std::uint32_t reserved;
};

// Which step of a launch failed.
enum class Stage : std::uint32_t {
  message = 1,
  record,
  cgroup,
  fork,
  session,
  groups,
  gid,
  uid,
  streams,
  directory,
  execute,
  mounts,        // no mount namespace could be made
  hide,          // `index` is that of the directory
  make_private,  // `index` is that of the directory
  nice,
  resource_limit,  // `index` is that of the limit
  privileges
};

struct Failure {
  std::uint32_t stage;
  std::int32_t error_number;
  std::uint32_t index;
};

inline constexpr int stop_signal = SIGTERM;  // asks the child's process group to end
inline constexpr int kill_signal = SIGUSR1;  // ends the whole tree now

inline constexpr const char* released_file = "released";
inline constexpr const char* child_file = "child";
inline constexpr const char* child_draft = "child.new";
inline constexpr const char* exit_file = "exit";
inline constexpr const char* exit_draft = "exit.new";
inline constexpr std::size_t exit_size = 512;

inline constexpr const char* shim_leaf = "shim";
inline constexpr const char* job_leaf = "job";

}  // namespace agent::process::wire
