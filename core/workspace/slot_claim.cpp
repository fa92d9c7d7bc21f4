// Whose a slot is, in a file beside it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "crash_point.hpp"
#include "workspace/slot_parts.hpp"

namespace agent::workspace {

using domain::Error;
using domain::ErrorCode;

namespace {

std::string claim_name(const Slot& slot) { return ".runner-manager-" + slot.name; }
// One name, so that what a crash leaves is found by whoever comes next.
std::string draft_name(const Slot& slot) { return claim_name(slot) + ".new"; }

Result<void> forget_draft(int root, const Slot& slot) {
  if (const int error = remove_file(root, draft_name(slot)); error != 0)
    return system_error("cannot remove an unfinished file beside a slot", error);
  return {};
}

Result<std::string> read_claim(int root, const Slot& slot) {
  const auto name = claim_name(slot);
  const Fd file(::openat(root, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) {
    if (errno == ENOENT) return std::string();
    return system_error("cannot read who has taken a slot", errno);
  }
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return system_error("cannot read who has taken a slot", errno);
  // Not written by us, so it says nothing.
  if (!S_ISREG(info.st_mode) || info.st_uid != ::geteuid()) return std::string();
  std::string text(129, '\0');
  const auto got = ::read(file.get(), text.data(), text.size());
  if (got < 0) return system_error("cannot read who has taken a slot", errno);
  text.resize(static_cast<std::size_t>(got));
  return text;
}

Result<void> write_claim(int root, const Slot& slot, const domain::AttemptId& holder) {
  const auto temporary = draft_name(slot);
  if (auto removed = forget_draft(root, slot); !removed) return removed;
  const Fd file(
      ::openat(root, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return system_error("cannot write who has taken a slot", errno);
  RMGR_CRASH_POINT("workspace.slot_claim.draft");
  int error = write_all(file.get(), holder.str() + "\n");
  if (error == 0 && ::fsync(file.get()) != 0) error = errno;
  RMGR_CRASH_POINT("workspace.slot_claim.before_rename");
  if (error == 0 && ::renameat(root, temporary.c_str(), root, claim_name(slot).c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlinkat(root, temporary.c_str(), 0);
    return system_error("cannot write who has taken a slot", error);
  }
  RMGR_CRASH_POINT("workspace.slot_claim.renamed");
  if (::fsync(root) != 0) return system_error("cannot write who has taken a slot", errno);
  return {};
}

}  // namespace

Result<bool> has_taken(const Slot& slot, const domain::AttemptId& holder) {
  const auto root = open_directory(slot.root);
  if (!root) {
    if (root.error().code == ErrorCode::not_found) return false;
    return root.error();
  }
  const auto claim = read_claim(root->get(), slot);
  if (!claim) return claim.error();
  return *claim == holder.str() + "\n";
}

SlotOutcome take_slot(const Slot& slot, const domain::AttemptId& holder, Resolve resolve) {
  const auto failed = [](const Error& error) { return SlotFailure{std::nullopt, error}; };
  if (holder.empty()) return failed(Error{ErrorCode::internal, "a slot is taken for a named attempt"});
  if (auto failure = look_at_slot(slot, resolve)) return failure;
  OpenSlot opened;
  if (auto failure = open_slot(slot, resolve, opened)) return failure;
  if (!opened.root) return failed(Error{ErrorCode::not_found, "the root of the slot is missing"});
  const int root = opened.root.get();
  if (auto written = write_claim(root, slot, holder); !written) return failed(written.error());
  RMGR_CRASH_POINT("workspace.slot.claimed");
  if (opened.directory) return close_slot(opened);
  if (::mkdirat(root, slot.name.c_str(), S_IRWXU) != 0)
    return failed(system_error("cannot make a slot", errno));
  RMGR_CRASH_POINT("workspace.slot.made");
  return std::nullopt;
}

Result<void> give_back(int root, const Slot& slot) {
  if (const int error = remove_file(root, claim_name(slot)); error != 0)
    return system_error("cannot give a slot back", error);
  RMGR_CRASH_POINT("workspace.slot.given_back");
  return forget_draft(root, slot);
}

Result<void> leave_slot(const Slot& slot) {
  const auto root = open_directory(slot.root);
  if (root) return forget_draft(root->get(), slot);
  if (root.error().code == ErrorCode::not_found) return {};
  return root.error();
}

}  // namespace agent::workspace
