// Jobs that use up the machine. Each stops by itself far above what it should get, for a test that finds no
// limit.
#include <fcntl.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <vector>

#include "hostile/job/attacks.hpp"

namespace hostile {
namespace {

constexpr int kMostProcesses = 1500;
constexpr std::size_t kMostMemory = std::size_t{1} << 30U;
constexpr std::size_t kMostDisk = std::size_t{1} << 30U;

}  // namespace

void fork_bomb(const Words&) {
  std::signal(SIGTERM, SIG_IGN);
  // Counted in memory that all share.
  void* shared = ::mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return note("no shared memory");
  auto* counted = static_cast<int*>(shared);
  bool told = false;
  for (;;) {
    if (__atomic_load_n(counted, __ATOMIC_RELAXED) >= kMostProcesses) {
      if (!told) tried("more than 1500 processes", true);
      told = true;
      ::usleep(100'000);
      continue;
    }
    const pid_t child = ::fork();
    if (child == 0) {
      __atomic_fetch_add(counted, 1, __ATOMIC_RELAXED);
      told = true;  // only the first one tells
      ::setsid();
    } else if (child < 0) {
      if (!told) tried("another process after " + std::to_string(*counted), false);
      told = true;
      ::usleep(50'000);
    }
  }
}

void memory_hog(const Words&) {
  constexpr std::size_t step = std::size_t{4} << 20U;
  for (std::size_t have = 0; have < kMostMemory; have += step) {
    void* more = ::mmap(nullptr, step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (more == MAP_FAILED) return tried("more memory after " + std::to_string(have >> 20U) + " MiB", false);
    std::memset(more, 0x5a, step);
  }
  tried("1 GiB of memory", true);
}

void disk_filler(const Words&) {
  const std::string block(std::size_t{1} << 20U, 'x');
  // One without a name first: it takes space that no listing shows.
  const int nameless = ::open("filler", O_RDWR | O_CREAT | O_TRUNC, 0600);
  ::unlink("filler");
  std::size_t written = 0;
  bool full = false;
  for (int file = 0; !full && written < kMostDisk; ++file) {
    const int named = ::open(("full-" + std::to_string(file)).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (const int into : {nameless, named}) {
      for (int part = 0; part < 4 && !full; ++part) {
        const ssize_t got = ::write(into, block.data(), block.size());
        full = got < 0;
        written += got < 0 ? 0 : static_cast<std::size_t>(got);
      }
    }
    if (named < 0) full = true;
    ::close(named);
  }
  tried("another byte on the disk after " + std::to_string(written >> 20U) + " MiB", !full);
  // And then names, until there is no room for another one.
  int names = 0;
  while (names < 200'000) {
    const int empty =
        ::open(("name-" + std::to_string(names)).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (empty < 0) break;
    ::close(empty);
    ++names;
  }
  note(std::to_string(names) + " empty files");
}

void ipc_hoarder(const Words&) {
  int made = 0;
  for (int i = 0; i < 16; ++i) {
    made += ::shmget(IPC_PRIVATE, 65536, IPC_CREAT | 0666) >= 0 ? 1 : 0;
    made += ::msgget(IPC_PRIVATE, IPC_CREAT | 0666) >= 0 ? 1 : 0;
    made += ::semget(IPC_PRIVATE, 4, IPC_CREAT | 0666) >= 0 ? 1 : 0;
    const std::string name = "/hostile-" + std::to_string(::getpid()) + '-' + std::to_string(i);
    made += ::shm_open(name.c_str(), O_CREAT | O_RDWR, 0666) >= 0 ? 1 : 0;
    made += ::mq_open(name.c_str(), O_CREAT | O_RDWR, 0666, nullptr) >= 0 ? 1 : 0;
  }
  note(std::to_string(made) + " IPC objects");
}

}  // namespace hostile
