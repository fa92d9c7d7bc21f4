#include "workspace/slot.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>

#include "crash_point.hpp"
#include "workspace/marks.hpp"
#include "workspace/slot_parts.hpp"

namespace agent::workspace {

using domain::Error;
using domain::ErrorCode;
using domain::SlotRefusal;

namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

std::string said(int error) { return std::generic_category().message(error); }

std::string by_descriptor(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

// What opening the slot's own entry met.
SlotFailure refuse_opening(int error) {
  switch (error) {
    case ENOTDIR:
    case ELOOP: return refuse(SlotRefusal::slot_is_not_a_directory);
    case EXDEV: return refuse(SlotRefusal::slot_escapes_its_root, "another filesystem is mounted there");
    default: return refuse(SlotRefusal::slot_could_not_be_enumerated, said(error));
  }
}

// A directory of ours that its job has closed is opened again. Never one of another account: this is what
// the chmod would refuse.
Fd open_closed(const Beneath& beneath, int root, const char* name) {
  const Fd closed = beneath.open(root, name, O_PATH | O_DIRECTORY);
  if (!closed) return {};
  if (::chmod(by_descriptor(closed.get()).c_str(), S_IRWXU) != 0) return {};
  return Fd(::open(by_descriptor(closed.get()).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// Up into the slot, never over anything. A directory that changes its parent must be writable itself.
int move_up(int layout, const char* name, int slot) {
  const auto move = [=] { return ::renameat2(layout, name, slot, name, RENAME_NOREPLACE) == 0 ? 0 : errno; };
  const int error = move();
  if (error != EACCES) return error;
  const Fd entry(::openat(layout, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!entry || ::fstat(entry.get(), &info) != 0) return error;
  make_writable(entry.get());
  const int again = move();
  return ::fchmod(entry.get(), info.st_mode & 07777U) == 0 ? again : errno;
}

}  // namespace

SlotFailure refuse(SlotRefusal refusal, const std::string& detail) {
  std::string message(domain::to_string(refusal));
  if (!detail.empty()) message += " (" + detail + ")";
  message += ": " + std::string(domain::remedy(refusal));
  return {refusal, Error{ErrorCode::denied, std::move(message)}};
}

SlotOutcome open_slot(const Slot& slot, Resolve resolve, OpenSlot& opened) {
  if (!is_entry_name(slot.name)) return refuse(SlotRefusal::slot_path_is_not_the_journalled_slot);
  auto root = open_directory(slot.root);
  if (!root) {
    const auto code = root.error().code;
    if (code == ErrorCode::not_found) return std::nullopt;
    // A link, or something else that is no directory, on the way to the root.
    if (code == ErrorCode::invalid) return refuse(SlotRefusal::slot_escapes_its_root);
    return SlotFailure{std::nullopt, root.error()};
  }
  opened.root = std::move(*root);
  auto beneath = Beneath::make(opened.root.get(), resolve);
  if (!beneath) return SlotFailure{std::nullopt, beneath.error()};
  opened.beneath = *beneath;
  opened.directory = beneath->open(opened.root.get(), slot.name.c_str(), O_RDONLY | O_DIRECTORY);
  if (!opened.directory && errno == EACCES)
    opened.directory = open_closed(*beneath, opened.root.get(), slot.name.c_str());
  if (opened.directory || errno == ENOENT) return std::nullopt;
  return refuse_opening(errno);
}

SlotOutcome close_slot(const OpenSlot& slot) {
  const int directory = slot.directory.get();
  struct stat info {};
  if (::fstat(directory, &info) != 0) return refuse(SlotRefusal::slot_could_not_be_enumerated, said(errno));
  clear_marks(directory);
  const bool foreign = info.st_uid != ::geteuid() || info.st_gid != ::getegid();
  if (foreign && ::fchown(directory, ::geteuid(), ::getegid()) != 0 && info.st_uid != ::geteuid())
    return refuse(SlotRefusal::slot_could_not_be_enumerated, said(errno));
  if (::fchmod(directory, S_IRWXU) != 0)
    return refuse(SlotRefusal::slot_could_not_be_enumerated, said(errno));
  return std::nullopt;
}

SlotOutcome look_at_retained(const OpenSlot& slot, bool& there) {
  there = false;
  const Fd entry = slot.beneath->open(slot.directory.get(), kRetained, O_PATH);
  if (!entry) {
    if (errno == ENOENT) return std::nullopt;
    if (errno == EXDEV || errno == ELOOP) {
      return refuse(SlotRefusal::retained_work_is_not_a_directory);
    }
    return refuse(SlotRefusal::slot_could_not_be_enumerated, said(errno));
  }
  struct stat info {};
  if (::fstat(entry.get(), &info) != 0) return refuse(SlotRefusal::slot_could_not_be_enumerated, said(errno));
  if (!S_ISDIR(info.st_mode)) return refuse(SlotRefusal::retained_work_is_not_a_directory);
  there = true;
  return std::nullopt;
}

int for_each_entry(int directory, const std::function<bool(const std::string& name)>& each) {
  Fd copy(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!copy) return errno;
  const std::unique_ptr<DIR, CloseDirectory> stream(::fdopendir(copy.get()));
  if (!stream) return errno;
  [[maybe_unused]] const int owned_by_stream = copy.release();
  for (errno = 0; const dirent* entry = ::readdir(stream.get()); errno = 0) {
    const std::string name = entry->d_name;
    if (name == "." || name == ".." || name == kRetained) continue;
    if (!each(name)) return 0;
  }
  return errno;
}

SlotOutcome look_at_slot(const Slot& slot, Resolve resolve) {
  OpenSlot opened;
  if (auto failure = open_slot(slot, resolve, opened)) return failure;
  if (!opened.directory) return std::nullopt;
  bool there = false;
  if (auto failure = look_at_retained(opened, there)) return failure;
  bool empty = true;
  const int error =
      for_each_entry(opened.directory.get(), [&empty](const std::string&) { return empty = false; });
  if (error != 0) return refuse(SlotRefusal::slot_could_not_be_enumerated, said(error));
  if (!empty) return refuse(SlotRefusal::slot_still_holds_runner_state);
  return std::nullopt;
}

Result<void> fill_slot(const Slot& slot,
                       const std::function<Result<void>(const std::string& directory)>& fill,
                       Resolve resolve) {
  OpenSlot opened;
  if (auto failure = open_slot(slot, resolve, opened)) return failure->error;
  if (!opened.directory) return Error{ErrorCode::retry, "the slot went away while it was filled"};
  const auto name = std::string(kLayoutPrefix) + random_suffix();
  const int directory = opened.directory.get();
  if (::mkdirat(directory, name.c_str(), S_IRWXU) != 0)
    return system_error("cannot make a directory in the slot", errno);
  RMGR_CRASH_POINT("workspace.slot.layout_made");
  if (auto filled = fill(slot.root + "/" + slot.name + "/" + name); !filled) return filled;
  RMGR_CRASH_POINT("workspace.slot.layout_filled");
  const Fd layout = opened.beneath->open(directory, name.c_str(), O_RDONLY | O_DIRECTORY);
  if (!layout) return system_error("cannot open a directory in the slot", errno);
  struct stat info {};
  if (::fstatat(layout.get(), kRetained, &info, AT_SYMLINK_NOFOLLOW) == 0) {
    return Error{ErrorCode::invalid,
                 "the runner package has an entry `_work`, which is where a persistent workspace keeps its "
                 "work; use another package or an ephemeral workspace"};
  }
  Result<void> moved{};
  const int error = for_each_entry(layout.get(), [&](const std::string& entry) {
    const int refused = move_up(layout.get(), entry.c_str(), directory);
    RMGR_CRASH_POINT("workspace.slot.moved_up");
    if (refused != 0) moved = system_error("cannot put the runner package into the slot", refused);
    return refused == 0;
  });
  if (!moved) return moved;
  if (error != 0) return system_error("cannot list a directory in the slot", error);
  if (::unlinkat(directory, name.c_str(), AT_REMOVEDIR) != 0)
    return system_error("cannot remove a directory in the slot", errno);
  RMGR_CRASH_POINT("workspace.slot.filled");
  return {};
}

}  // namespace agent::workspace
