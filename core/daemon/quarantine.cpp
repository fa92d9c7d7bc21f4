#include "daemon/quarantine.hpp"

#include <charconv>

#include "plugin/crash_note.hpp"

namespace agent::daemon {

using domain::Result;

namespace {

// No instance can be called this: names do not begin with a dot.
const domain::InstanceName kCrashes(".crashes");

}  // namespace

Result<std::int64_t> Quarantine::crashes(std::string_view digest) {
  const auto stored = journal_.kv_get(kCrashes, digest);
  if (!stored) return stored.error();
  std::int64_t count = 0;
  if (*stored) std::from_chars((*stored)->data(), (*stored)->data() + (*stored)->size(), count);
  return count;
}

Result<void> Quarantine::count_crashes(const std::string& note_file) {
  const auto digests = plugin::take_crash_notes(note_file);
  if (!digests) return digests.error();
  for (const std::string& digest : *digests) {
    const auto before = crashes(digest);
    if (!before) return before.error();
    const auto written = journal_.kv_put(kCrashes, digest, std::to_string(*before + 1));
    if (!written) return written;
  }
  return {};
}

Result<void> Quarantine::forget_crashes() {
  for (const std::string& digest : in_use_) {
    if (auto removed = journal_.kv_remove(kCrashes, digest); !removed) return removed;
  }
  return {};
}

Result<void> Quarantine::release(std::string_view digest) { return journal_.kv_remove(kCrashes, digest); }

}  // namespace agent::daemon
