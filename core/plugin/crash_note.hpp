// In whose call the process crashed, for the next start to know.
//
// A plugin that breaks memory takes the daemon along, and would again after each start. While a thread is in
// a plugin's call it carries the digest of the library; a fatal signal in that thread writes it to a file. An
// end from outside (SIGKILL, power loss) leaves no note, so nobody is blamed for it.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "domain/result.hpp"

namespace agent::plugin {

inline constexpr std::size_t digest_size = 64;  // hex digits

// Reads the notes of the processes before this one, each a digest, and removes them; at most 16.
domain::Result<std::vector<std::string>> take_crash_notes(const std::string& path);

// From here on a fatal signal in a call leaves a note in the file. Once in a process; what handled these
// signals before still does, after the note.
domain::Result<void> leave_crash_notes(const std::string& path);

// This thread is in a call of the library. Nests: the innermost counts.
class InCallOf {
 public:
  explicit InCallOf(std::string_view digest) noexcept;
  ~InCallOf();
  InCallOf(const InCallOf&) = delete;
  InCallOf& operator=(const InCallOf&) = delete;

 private:
  std::array<char, digest_size + 1> line_{};  // with the end of line; empty if there is no digest
  const char* outer_;
};

}  // namespace agent::plugin
