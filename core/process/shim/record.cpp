#include "process/shim/record.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "process/protocol.hpp"
#include "process/shim/io.hpp"
#include "process/stat_line.hpp"

namespace agent::process::shim {
namespace {

int take_space(int directory) {
  char blank[wire::exit_size];
  std::memset(blank, '\n', sizeof blank);
  const int fd =
      ::openat(directory, wire::exit_draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return errno;
  const int failure = write_all(fd, blank, sizeof blank);
  ::close(fd);
  return failure;
}

}  // namespace

int record_child(int directory, int proc, pid_t child, std::int64_t uid) {
  const int no_space = take_space(directory);
  if (no_space != 0) return no_space;
  char path[32];
  char text[1024];
  std::snprintf(path, sizeof path, "%d/stat", child);
  StatLine line;
  const std::ptrdiff_t size = read_file(proc, path, text, sizeof text);
  if (size <= 0 || !parse_stat({text, static_cast<std::size_t>(size)}, line)) return ESRCH;
  char boot[64];
  if (read_file(proc, "sys/kernel/random/boot_id", boot, sizeof boot) <= 0) return EIO;
  boot[std::strcspn(boot, "\n")] = 0;
  char record[256];
  const int length = std::snprintf(
      record, sizeof record, "rmgr-child 1\npid %d\nstart %" PRIu64 "\nuid %" PRId64 "\nboot %s\n", child,
      line.start, uid < 0 ? static_cast<std::int64_t>(::getuid()) : uid, boot);
  return write_file(directory, wire::child_draft, wire::child_file, record, static_cast<std::size_t>(length));
}

void forget_child(int directory) {
  ::unlinkat(directory, wire::child_file, 0);
  ::unlinkat(directory, wire::exit_draft, 0);
  ::fsync(directory);
}

int record_exit(int directory, const Ending& ending) {
  char record[wire::exit_size];
  std::memset(record, '\n', sizeof record);
  const bool signalled = WIFSIGNALED(ending.status);
  const int length =
      std::snprintf(record, sizeof record,
                    "rmgr-exit 1\ncode %d\nsignal %d\noom %d\nran_ms %" PRId64 "\nended_ms %" PRId64 "\n",
                    signalled ? 0 : WEXITSTATUS(ending.status), signalled ? WTERMSIG(ending.status) : 0,
                    ending.out_of_memory ? 1 : 0, ending.ran_ms, wall_ms());
  record[length] = '\n';
  return write_file(directory, wire::exit_draft, wire::exit_file, record, sizeof record);
}

}  // namespace agent::process::shim
