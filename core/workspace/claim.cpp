#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "crash_point.hpp"
#include "workspace/handle.hpp"
#include "workspace/workspace.hpp"

namespace agent::workspace {

using domain::Error;
using domain::ErrorCode;

namespace {

constexpr const char* kMark = ".runner-manager-owner";
constexpr mode_t kRootMode = 0711;

struct Denial {
  std::optional<RootRefusal> refusal;  // what it is called, where it has a name
  Error error;
};
using Claimed = std::optional<Denial>;  // nothing: it is ours

Denial denied(RootRefusal refusal, const std::string& root, std::string_view why) {
  return {refusal, {ErrorCode::denied, "the root " + root + " is not taken: " + std::string(why)}};
}
Denial failed(const Error& error) { return {std::nullopt, error}; }
Denial failed(const std::string& what, int error) { return failed(system_error(what, error)); }

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

// Only lost+found and our own unfinished marks may be in a directory that is claimed.
Result<bool> is_empty(int directory) {
  Fd copy(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!copy) return system_error("cannot list the root", errno);
  const std::unique_ptr<DIR, CloseDirectory> stream(::fdopendir(copy.get()));
  if (!stream) return system_error("cannot list the root", errno);
  [[maybe_unused]] const int owned_by_stream = copy.release();
  for (errno = 0; const dirent* entry = ::readdir(stream.get()); errno = 0) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == ".." || name == "lost+found" || name.starts_with(kMark)) continue;
    return false;
  }
  if (errno != 0) return system_error("cannot list the root", errno);
  return true;
}

Claimed read_mark(int directory, const std::string& root, std::optional<std::string>& mark) {
  const Fd file(::openat(directory, kMark, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) {
    if (errno == ENOENT) return std::nullopt;
    if (errno == ELOOP)
      return denied(RootRefusal::owned_by_another_installation, root, "its owner mark is a link");
    return failed("cannot read the owner mark of the root " + root, errno);
  }
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return failed("cannot read the owner mark of the root " + root, errno);
  if (!S_ISREG(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return denied(RootRefusal::owned_by_another_installation, root,
                  "its owner mark is not a file of this account that others cannot write");
  }
  std::string text(257, '\0');
  const auto got = ::read(file.get(), text.data(), text.size());
  if (got < 0) return failed("cannot read the owner mark of the root " + root, errno);
  text.resize(static_cast<std::size_t>(got));
  if (!text.empty() && text.back() == '\n') text.pop_back();
  mark = std::move(text);
  return std::nullopt;
}

// Of one installation alone, so that two that claim the same root never write one file, and one name, so that
// what a crash leaves is found again.
std::string draft_name(const domain::InstallationId& installation) {
  return std::string(kMark) + "." + installation.str();
}

Result<void> forget_draft(int directory, const std::string& root,
                          const domain::InstallationId& installation) {
  if (const int error = remove_file(directory, draft_name(installation)); error != 0)
    return system_error("cannot remove an unfinished owner mark of the root " + root, error);
  return {};
}

// Whole or not at all, and never over one that is there: a temporary file that is linked to its name.
Result<void> write_mark(int directory, const std::string& root, const domain::InstallationId& installation) {
  const auto temporary = draft_name(installation);
  if (auto removed = forget_draft(directory, root, installation); !removed) return removed;
  const Fd file(
      ::openat(directory, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return system_error("cannot write the owner mark of the root " + root, errno);
  RMGR_CRASH_POINT("workspace.mark.draft");
  int error = write_all(file.get(), installation.str() + "\n");
  if (error == 0 && ::fsync(file.get()) != 0) error = errno;
  if (error == 0 && ::linkat(directory, temporary.c_str(), directory, kMark, 0) != 0) error = errno;
  RMGR_CRASH_POINT("workspace.mark.linked");
  ::unlinkat(directory, temporary.c_str(), 0);
  if (error == 0 && ::fsync(directory) != 0) error = errno;
  if (error != 0) return system_error("cannot write the owner mark of the root " + root, error);
  return {};
}

Claimed claim(const std::string& root, const domain::InstallationId& installation) {
  if (!is_entry_name(draft_name(installation)) || installation.empty()) {
    return failed({ErrorCode::internal, "a root can only be claimed for a named installation"});
  }
  const auto place = open_parent(root);
  if (!place) return failed(place.error());
  const int parent = place->parent.get();
  const std::string& name = place->name;
  RMGR_CRASH_POINT("workspace.root.before_mkdir");
  const bool made = ::mkdirat(parent, name.c_str(), kRootMode) == 0;
  if (!made && errno != EEXIST) return failed("cannot make the root " + root, errno);
  const Fd directory(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory) return failed("cannot open the root " + root, errno);
  struct stat info {};
  if (::fstat(directory.get(), &info) != 0) return failed("cannot examine the root " + root, errno);
  if (info.st_uid != ::geteuid())
    return denied(RootRefusal::not_writable, root, "it belongs to another account; give it to this one");
  std::optional<std::string> mark;
  if (auto refused = read_mark(directory.get(), root, mark)) return refused;
  if (mark && *mark != installation.str()) {
    return denied(RootRefusal::owned_by_another_installation, root,
                  "another installation owns it; name another directory, or remove its " +
                      std::string(kMark) + " once that installation is gone");
  }
  if (!mark) {
    const auto empty = is_empty(directory.get());
    if (!empty) return failed(empty.error());
    if (!*empty)
      return denied(RootRefusal::holds_other_files, root,
                    "it holds files that this program did not make; name an empty directory");
  }
  if (::fchmod(directory.get(), kRootMode) != 0)
    return failed("cannot set the mode of the root " + root, errno);
  if (mark) {
    if (auto removed = forget_draft(directory.get(), root, installation); !removed)
      return failed(removed.error());
    return std::nullopt;
  }
  RMGR_CRASH_POINT("workspace.root.made");
  if (made && ::fsync(parent) != 0) return failed("cannot make the root " + root, errno);
  if (auto written = write_mark(directory.get(), root, installation); !written)
    return failed(written.error());
  return std::nullopt;
}

RootRefusal refusal_of(ErrorCode code) {
  return code == ErrorCode::denied || code == ErrorCode::full ? RootRefusal::not_writable
                                                              : RootRefusal::not_inspectable;
}

}  // namespace

Result<void> claim_root(const std::string& root, const domain::InstallationId& installation) {
  if (auto denial = claim(root, installation)) return denial->error;
  return {};
}

Preflight prepare_root(const std::string& root, const std::vector<std::string>& ours,
                       const std::vector<OtherRoot>& others, const domain::InstallationId& installation) {
  auto checked = check_root(root, ours, others);
  if (!checked.ready) return checked;
  auto denial = claim(root, installation);
  if (!denial) return checked;
  return {false, denial->refusal ? *denial->refusal : refusal_of(denial->error.code),
          denial->error.message + "."};
}

Result<void> create_runtime(const std::string& root, const std::string& name) {
  if (!is_entry_name(name))
    return Error{ErrorCode::invalid, "a runtime is named by one plain directory name"};
  const auto directory = open_directory(root);
  if (!directory) return directory.error();
  RMGR_CRASH_POINT("workspace.runtime.before_mkdir");
  if (::mkdirat(directory->get(), name.c_str(), 0700) == 0) return {};
  if (errno == EEXIST) {
    return Error{ErrorCode::exists,
                 "the runtime " + name + " is already there below " + root + "; nothing was changed"};
  }
  return system_error("cannot make a runtime below " + root, errno);
}

}  // namespace agent::workspace
