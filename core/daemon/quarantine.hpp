// Which plugin files the daemon went down with, kept in the journal, and how one is given another chance.
#pragma once

#include <string>
#include <string_view>

#include "journal/journal.hpp"

namespace agent::daemon {

// Loop thread only.
class Quarantine {
 public:
  explicit Quarantine(journal::Journal& journal) : journal_(journal) {}

  // Counts the crashes that earlier processes noted in the file.
  domain::Result<void> count_crashes(const std::string& note_file);
  // A file is about to be loaded, or an instance of it made. How often in a row the daemon did not come back
  // from that, or crashed in a call of it.
  domain::Result<std::int64_t> begin(std::string_view digest);
  domain::Result<void> end(std::string_view digest) { return journal_.end_loading(digest); }
  // The daemon has run long enough: crashes before this start count no more.
  domain::Result<void> forget_crashes();
  // The operator's way out: the file is tried again.
  domain::Result<void> release(std::string_view digest);

 private:
  domain::Result<std::int64_t> crashes_of(std::string_view digest);
  journal::Journal& journal_;
};

}  // namespace agent::daemon
