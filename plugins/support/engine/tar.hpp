// A directory as a tar archive, streamed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rmgr/call.hpp"
#include "support/engine/exchange.hpp"

namespace plugins::engine {

struct TarOptions {
  // The directory of the archive that everything goes into, without slashes around it. Those above it are not
  // in the archive, so that an image keeps what it has there.
  std::string prefix;
  std::uint32_t uid = 0;  // the owner of every entry
  std::uint32_t gid = 0;
  struct File {
    std::string directory;  // of the archive, one name
    std::string name;       // in it
    std::string path;       // of the file, which may be a link
  };
  std::vector<File> more = {};  // beside the directory
};

// `directory` may be empty: there is nothing but `options.more`. Emits directories, regular files and
// symbolic links below `directory` in the pax format; hard links become files, anything else is refused. No
// link is followed, and nothing is emitted of a file beyond the size that it had when it was opened. Throws
// rmgr::Error.
void write_tar(const rmgr::Call& call, const std::string& directory, const TarOptions& options,
               const Emit& emit);

// Reads the names in an archive as it comes, and nothing else of it.
class TarNames {
 public:
  // Of each regular file; answers whether it wants more.
  using Seen = std::function<bool(const std::string& name)>;
  explicit TarNames(Seen seen) : seen_(std::move(seen)) {}
  // False once nothing more is wanted: somebody said so, or what comes is no archive.
  bool take(std::string_view bytes);
  // The end of the archive was seen, so that all names were.
  [[nodiscard]] bool complete() const { return complete_; }

 private:
  bool read_header();

  Seen seen_;
  std::string header_;
  std::uint64_t skip_ = 0;  // of contents and their padding
  bool complete_ = false;
};

}  // namespace plugins::engine
