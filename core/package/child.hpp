// The unpacking child: started, watched and ended here.
#pragma once

#include <string>
#include <vector>

#include "package/archive.hpp"

namespace agent::package {

struct ChildEnd {
  int exit_code = -1;  // -1: killed, by us or by the kernel
  bool late = false;   // past the deadline
  std::string line;    // the first line of its standard output, at most 200 printable characters
};

// Runs `program` with nothing inherited but its standard streams, until it ends, the limit passes or somebody
// cancels; then it is killed with its process group and reaped in any case.
Result<ChildEnd> run_child(const std::string& program, const std::vector<std::string>& arguments,
                           domain::Millis limit, const Cancelled& cancelled);

// Exit codes and first line of rmgr-unpack: 0 "unpacked ENTRIES BYTES"; 2 "unsafe WORD"; 3 "failed WORD",
// where WORD is full or retry; 64 for wrong arguments.
inline constexpr int kUnpackUnsafe = 2;
inline constexpr int kUnpackFailed = 3;
inline constexpr int kUnpackUsage = 64;
// The account that a child of root changes to.
inline constexpr unsigned kUnpackAccount = 65534;

// Unpacks the file `archive` into the empty directory `destination` in the child `program`, and takes what it
// left over into this account. Errors as unpack.
Result<Unpacked> unpack_in_child(const std::string& program, const std::string& archive,
                                 const std::string& destination, const UnpackLimits& limits,
                                 domain::Millis limit, const Cancelled& cancelled);

}  // namespace agent::package
