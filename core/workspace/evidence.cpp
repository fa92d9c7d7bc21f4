#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>

#include "workspace/handle.hpp"
#include "workspace/workspace.hpp"

namespace agent::workspace {

namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

// A job can fill the directory; a look that sees only a part of it proves nothing but what it saw.
constexpr int kMaximumEntries = 20'000;

bool is_log(int directory, std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix) || !name.ends_with(".log")) return false;
  struct stat info {};
  return ::fstatat(directory, std::string(name).c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISREG(info.st_mode);
}

}  // namespace

domain::Evidence read_evidence(const std::string& runtime) {
  const auto home = open_directory(runtime);
  if (!home) return domain::Evidence::unknown;
  Fd logs(::openat(home->get(), "_diag", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!logs) return domain::Evidence::unknown;
  const std::unique_ptr<DIR, CloseDirectory> stream(::fdopendir(logs.get()));
  if (!stream) return domain::Evidence::unknown;
  [[maybe_unused]] const int owned_by_stream = logs.release();
  const int directory = ::dirfd(stream.get());
  bool listener = false;
  for (int seen = 0; const dirent* entry = ::readdir(stream.get()); ++seen) {
    if (seen >= kMaximumEntries) return domain::Evidence::unknown;
    if (is_log(directory, entry->d_name, "Worker_")) return domain::Evidence::ran;
    listener = listener || is_log(directory, entry->d_name, "Runner_");
  }
  return listener ? domain::Evidence::no_job : domain::Evidence::unknown;
}

}  // namespace agent::workspace
