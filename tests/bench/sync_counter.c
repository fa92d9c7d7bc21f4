// Preloaded into the agent: counts its calls that wait for a disk, in a file of three 64-bit numbers that the
// benchmark reads: all of them, those on the journal and its log, and those that failed. Programs that the
// agent starts get no preloading from it.
#include "bench/sync_counter.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef int (*sync_call)(int);

static _Atomic unsigned long long* counts;

__attribute__((constructor)) static void begin(void) {
  const char* path = getenv(RMGR_SYNC_COUNTS);
  unsetenv("LD_PRELOAD");
  if (path == NULL) return;
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void* mapped = mmap(NULL, RMGR_SYNC_NUMBERS * sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (mapped != MAP_FAILED) counts = mapped;
}

static int on_journal(int file) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0) return 0;
  path[size] = '\0';
  return strstr(path, "/journal.db") != NULL;
}

static int counted(const char* name, int file) {
  sync_call real = NULL;
  *(void**)&real = dlsym(RTLD_NEXT, name);
  const int result = real(file);
  if (counts != NULL) {
    atomic_fetch_add(&counts[RMGR_SYNC_ALL], 1);
    if (on_journal(file)) atomic_fetch_add(&counts[RMGR_SYNC_JOURNAL], 1);
    if (result != 0) atomic_fetch_add(&counts[RMGR_SYNC_FAILED], 1);
  }
  return result;
}

int fsync(int file) { return counted("fsync", file); }
int fdatasync(int file) { return counted("fdatasync", file); }
int syncfs(int file) { return counted("syncfs", file); }
