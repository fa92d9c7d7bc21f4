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

namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

// A job can fill the directory; a look that sees only a part of it proves nothing but what it saw.
constexpr int kMaximumEntries = 20'000;

bool is_log_name(std::string_view name, std::string_view prefix) {
  return name.starts_with(prefix) && name.ends_with(".log");
}

// What a job can do to its own directory (remove it, close it, put a link there) must not look like a file
// system that does not answer, or a job could keep its attempt undecided for ever.
domain::Result<domain::Evidence> nothing_read(const domain::Error& error) {
  if (error.code == domain::ErrorCode::retry) return error;
  return domain::Evidence::unknown;
}
domain::Result<domain::Evidence> nothing_read(int error) {
  return nothing_read(system_error("cannot read the runner's diagnostics", error));
}

// 0 for a regular file, ENOENT for anything else that is there or not, or why nobody knows.
int regular_file(int directory, const char* name) {
  struct stat info {};
  if (::fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return errno;
  return S_ISREG(info.st_mode) ? 0 : ENOENT;
}

}  // namespace

domain::Result<domain::Evidence> read_evidence(const std::string& runtime) {
  RMGR_CRASH_POINT("workspace.evidence.read");
  const auto home = open_directory(runtime);
  if (!home) return nothing_read(home.error());
  Fd logs(::openat(home->get(), "_diag", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!logs) return nothing_read(errno);
  const std::unique_ptr<DIR, CloseDirectory> stream(::fdopendir(logs.get()));
  if (!stream) return nothing_read(errno);
  [[maybe_unused]] const int owned_by_stream = logs.release();
  const int directory = ::dirfd(stream.get());
  bool listener = false;
  for (int seen = 0;; ++seen) {
    if (seen >= kMaximumEntries) return domain::Evidence::unknown;
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    const bool worker = is_log_name(entry->d_name, "Worker_");
    if (!worker && !is_log_name(entry->d_name, "Runner_")) continue;
    const int error = regular_file(directory, entry->d_name);
    if (error != 0 && error != ENOENT) return nothing_read(error);
    if (error == 0 && worker) return domain::Evidence::ran;
    listener = listener || error == 0;
  }
  if (errno != 0) return nothing_read(errno);
  return listener ? domain::Evidence::no_job : domain::Evidence::unknown;
}

}  // namespace agent::workspace
