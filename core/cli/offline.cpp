#include "cli/offline.hpp"

#include "journal/journal.hpp"

namespace agent::cli {

using domain::Result;

namespace {

Result<std::unique_ptr<journal::Journal>> open_journal(const std::string& state, bool check) {
  journal::OpenOptions open;
  open.path = state + "/journal.db";
  open.read_only = true;
  open.check = check;
  return journal::Journal::open(open);
}

Result<std::vector<domain::Attempt>> active_of(const std::string& state) {
  auto opened = open_journal(state, true);
  if (!opened) return opened.error();
  return (*opened)->load_active();
}

}  // namespace

daemon::OfflineInput look_without_agent(const std::string& state) {
  daemon::OfflineInput seen;
  seen.holder = journal::StateLock::holder(state);
  const auto note = [&seen](const domain::Error& error) {
    seen.journal = domain::journal_state(error.code);
    seen.message = error.message;
  };
  auto active = active_of(state);
  if (active) seen.active = std::move(*active);
  // Where no daemon ever was, nothing was begun.
  if (!active && active.error().code == domain::ErrorCode::not_found) seen.active.emplace();
  // On a read-only file system the journal's own log cannot be used either; the cause is said, not that.
  const auto place = journal::check_place(state);
  if (!place && (active || place.error().code == domain::ErrorCode::denied)) {
    note(place.error());
  } else if (!active) {
    note(active.error());
  }
  return seen;
}

Result<std::vector<domain::Attempt>> recent_without_agent(const std::string& state, std::int64_t limit) {
  auto opened = open_journal(state, false);
  if (!opened) return opened.error();
  return (*opened)->recent(limit);
}

}  // namespace agent::cli
