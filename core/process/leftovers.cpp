#include "process/leftovers.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <set>
#include <thread>

#include "process/identity.hpp"

namespace agent::process {
namespace {

using domain::Error;
using domain::ErrorCode;

// The real user of a process; -1 if it cannot be read.
std::int64_t real_user(std::int64_t pid) {
  const Fd fd(::open(("/proc/" + std::to_string(pid) + "/status").c_str(), O_RDONLY | O_CLOEXEC));
  char text[4096];
  const ssize_t size = fd ? ::read(fd.get(), text, sizeof text - 1) : -1;
  if (size <= 0) return -1;
  text[size] = 0;
  const std::string_view status(text, static_cast<std::size_t>(size));
  const std::size_t at = status.find("\nUid:\t");
  return at == std::string_view::npos ? -1 : std::strtoll(text + at + 6, nullptr, 10);
}

// Adds every descendant of the chosen ones.
void add_descendants(const std::vector<Seen>& all, std::set<std::int64_t>& chosen) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const Seen& process : all) {
      if (chosen.contains(process.line.parent) && chosen.insert(process.pid).second) changed = true;
    }
  }
}

std::set<std::int64_t> stem_from(const ChildRecord& child, const std::vector<Seen>& all) {
  std::set<std::int64_t> chosen;
  for (const Seen& process : all) {
    if (process.pid != child.identity.pid) continue;
    // The kernel keeps a number while a session or group bears it. Somebody else has it: ours is empty.
    if (process.line.start != child.identity.start_token) return {};
    chosen.insert(process.pid);
  }
  for (const Seen& process : all) {
    const bool member =
        process.line.session == child.identity.pid || process.line.group == child.identity.pid;
    // A later, unrelated session may have had the same number; account and age make that a stranger.
    if (member && process.line.start >= child.identity.start_token && real_user(process.pid) == child.uid) {
      chosen.insert(process.pid);
    }
  }
  add_descendants(all, chosen);
  return chosen;
}

// Kills the chosen ones of each look until a look finds none alive.
Result<void> kill_until_none(const std::function<std::set<std::int64_t>(const std::vector<Seen>&)>& choose,
                             domain::Millis timeout) {
  const auto give_up = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    auto all = all_processes();
    if (!all) return all.error();
    const std::set<std::int64_t> chosen = choose(*all);
    std::size_t alive = 0;
    for (const Seen& process : *all) {
      if (!chosen.contains(process.pid)) continue;
      auto opened = open_pid(process.pid);
      if (!opened) return opened.error();
      if (!*opened || ended(**opened, domain::Millis(0))) continue;
      const auto again = read_stat(process.pid);
      if (!again || again->start != process.line.start) continue;
      auto sent = signal(**opened, SIGKILL);
      if (!sent) return sent.error();
      ++alive;
    }
    if (alive == 0) return {};
    if (std::chrono::steady_clock::now() >= give_up) {
      return Error{ErrorCode::busy,
                   std::to_string(alive) + " processes of a runner did not end when killed."};
    }
    std::this_thread::sleep_for(domain::Millis(5));
  }
}

}  // namespace

Result<void> end_leftovers(const ChildRecord& child, const domain::BootId& boot, domain::Millis timeout) {
  if (child.identity.boot_id != boot) return {};
  return kill_until_none([&child](const std::vector<Seen>& all) { return stem_from(child, all); }, timeout);
}

Result<void> end_unresponsive(const ProcessIdentity& shim, const domain::BootId& boot,
                              domain::Millis timeout) {
  auto descendants = [&shim](const std::vector<Seen>& all) {
    std::set<std::int64_t> chosen;
    const bool there = std::any_of(all.begin(), all.end(), [&shim](const Seen& process) {
      return process.pid == shim.pid && process.line.start == shim.start_token;
    });
    if (!there) return chosen;
    chosen.insert(shim.pid);
    add_descendants(all, chosen);
    chosen.erase(shim.pid);
    return chosen;
  };
  auto cleared = kill_until_none(descendants, timeout);
  if (!cleared) return cleared;
  auto opened = open_live(shim, boot);
  if (!opened) return opened.error();
  if (!*opened) return {};
  auto sent = signal(**opened, SIGKILL);
  if (!sent) return sent.error();
  if (ended(**opened, timeout)) return {};
  return Error{ErrorCode::busy, "The supervisor of a runner did not end when killed."};
}

}  // namespace agent::process
