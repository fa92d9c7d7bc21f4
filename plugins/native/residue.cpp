#include "native/residue.hpp"

#include <dirent.h>
#include <poll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string_view>
#include <thread>

#include "native/files.hpp"
#include "rmgr/error.hpp"

namespace native {
namespace {

[[noreturn]] void defer(const std::string& message) { throw rmgr::Error(rmgr::Status::retry, message); }

// Any of the real, effective, saved and file system users of a process. Answers false for one that is gone.
bool belongs_to(const std::string& pid, std::uint32_t uid) {
  std::ifstream status("/proc/" + pid + "/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("Uid:")) continue;
    std::istringstream numbers(line.substr(4));
    for (std::uint64_t number = 0; numbers >> number;) {
      if (number == uid) return true;
    }
    return false;
  }
  return false;
}

bool ended(int pidfd) {
  pollfd fd{pidfd, POLLIN, 0};
  return ::poll(&fd, 1, 0) > 0;
}

using Listing = std::unique_ptr<DIR, int (*)(DIR*)>;

// Calls `act` with a handle of each living process of the account; answers how many there are.
std::size_t each_process(std::uint32_t uid, const std::function<void(int pidfd)>& act) {
  const Listing proc(::opendir("/proc"), ::closedir);
  if (!proc) defer(std::string("/proc cannot be listed: ") + std::strerror(errno) + ".");
  std::size_t count = 0;
  while (const dirent* entry = ::readdir(proc.get())) {
    const std::string_view name(entry->d_name);
    int pid = 0;
    const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (failure != std::errc() || end != name.data() + name.size()) continue;
    if (!belongs_to(std::string(name), uid)) continue;
    const Descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!handle) {
      if (errno == ESRCH) continue;
      defer(std::string("A process of a job account cannot be examined: ") + std::strerror(errno) + ".");
    }
    // Asked again: the number may have passed on before the handle was taken.
    if (ended(handle.get()) || !belongs_to(std::string(name), uid)) continue;
    act(handle.get());
    ++count;
  }
  return count;
}

// Calls `remove` with the id of each object of a System V table whose owner or maker is the account.
std::size_t each_system_v(const char* table, std::uint32_t uid, const std::function<void(int id)>& remove) {
  std::ifstream file(std::string("/proc/sysvipc/") + table);
  std::string header;
  if (!std::getline(file, header)) return 0;  // the kernel has none
  // The columns differ between the tables and their head names them; the second is the id in each.
  constexpr std::size_t id_column = 1;
  std::istringstream names(header);
  std::vector<std::string> columns;
  for (std::string name; names >> name;)
    columns.push_back(name);
  std::size_t count = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::int64_t id = -1;
    bool ours = false;
    std::string field;
    for (std::size_t i = 0; i < columns.size() && fields >> field; ++i) {
      if (i == id_column) id = std::strtoll(field.c_str(), nullptr, 10);
      if (columns[i] == "uid" || columns[i] == "cuid") ours = ours || field == std::to_string(uid);
    }
    if (!ours || id < 0) continue;
    remove(static_cast<int>(id));
    ++count;
  }
  return count;
}

std::size_t remove_system_v(std::uint32_t uid) {
  return each_system_v("shm", uid, [](int id) { ::shmctl(id, IPC_RMID, nullptr); }) +
         each_system_v("msg", uid, [](int id) { ::msgctl(id, IPC_RMID, nullptr); }) +
         each_system_v("sem", uid, [](int id) { ::semctl(id, 0, IPC_RMID); });
}

}  // namespace

std::size_t count_processes(std::uint32_t uid) {
  return each_process(uid, [](int) {});
}

void end_processes(const rmgr::Call& call, std::uint32_t uid, rmgr::Millis patience) {
  const auto give_up = std::chrono::steady_clock::now() + patience;
  for (;;) {
    const std::size_t left =
        each_process(uid, [](int pidfd) { ::syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, nullptr, 0); });
    if (left == 0) return;
    if (std::chrono::steady_clock::now() >= give_up) {
      defer(std::to_string(left) + " processes of user " + std::to_string(uid) + " did not end when killed.");
    }
    call.check();
    std::this_thread::sleep_for(rmgr::Millis(5));
  }
}

void remove_ipc(std::uint32_t uid) {
  remove_system_v(uid);
  const auto stays = [](int) {};
  if (each_system_v("shm", uid, stays) + each_system_v("msg", uid, stays) + each_system_v("sem", uid, stays) >
      0) {
    defer("System V objects of user " + std::to_string(uid) + " could not be removed.");
  }
}

}  // namespace native
