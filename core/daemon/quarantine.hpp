// Which plugin files the daemon went down with, kept in the journal, and how one is given another chance.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "journal/journal.hpp"

namespace agent::daemon {

// Loop thread only.
class Quarantine {
 public:
  explicit Quarantine(journal::Journal& journal) : journal_(journal) {}

  // Counts the crash that the process before this one noted in the file.
  domain::Result<void> count_crashes(const std::string& note_file);
  // How often in a row the daemon crashed in a call of it: at its load, as an instance was made, or later.
  // Only a look: how often somebody asks changes nothing.
  domain::Result<std::int64_t> crashes(std::string_view digest);
  // This run of the daemon has an instance of it.
  void in_use(std::string_view digest) { in_use_.emplace(digest); }
  // The daemon has run long enough: crashes before this start count no more for the files that are in use.
  // The run says nothing about others.
  domain::Result<void> forget_crashes();
  // The operator's way out: the file is tried again.
  domain::Result<void> release(std::string_view digest);

 private:
  journal::Journal& journal_;
  std::set<std::string, std::less<>> in_use_;
};

}  // namespace agent::daemon
