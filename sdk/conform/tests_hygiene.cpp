// hygiene: the process is left as it was found. Each test looks at one thing.
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <csignal>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

#include "conform/plugin.hpp"
#include "conform/processes.hpp"
#include "conform/script.hpp"

namespace rmgr::conform {
namespace {

std::vector<std::string> entries(const char* path) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(path), &::closedir);
  while (const dirent* entry = listing ? ::readdir(listing.get()) : nullptr) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  return names;
}

// Growth from the second round on: what a library opens once for good is no leak.
std::string grows(Context& context, const char* path, const char* what) {
  exercise(context, 1);
  const std::size_t before = entries(path).size();
  exercise(context, 3);
  // A thread that was joined may stay listed for a moment.
  for (int i = 0; i < 100 && entries(path).size() > before; ++i)
    std::this_thread::sleep_for(Millis(10));
  const std::size_t after = entries(path).size();
  expect(after <= before,
         "Three rounds from init to deinit left " + std::to_string(after - before) + " more " + what + ".");
  return std::string("No ") + what + " were left.";
}

std::string descriptors(Context& context) { return grows(context, "/proc/self/fd", "descriptors"); }

std::string threads(Context& context) {
  const std::size_t before = entries("/proc/self/task").size();
  exercise(context, 1);
  for (int i = 0; i < 100 && entries("/proc/self/task").size() > before; ++i)
    std::this_thread::sleep_for(Millis(10));
  const std::size_t after = entries("/proc/self/task").size();
  expect(after <= before, "After deinit " + std::to_string(after - before) + " threads of it still run.");
  return "No threads were left after deinit.";
}

std::string child_processes(Context& context) {
  exercise(context, 1);
  const std::size_t left = children().size();
  expect(left == 0, std::to_string(left) + " child processes of it were left.");
  return "No child processes were left.";
}

// One word for each signal: what is done with it, and whether it is blocked.
std::string signals_now() {
  std::string out;
  sigset_t mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) != 0) continue;
    std::ostringstream word;
    word << number << ':' << reinterpret_cast<const void*>(action.sa_handler) << ':'
         << sigismember(&mask, number) << ' ';
    out += word.str();
  }
  return out;
}

std::string directory_now() {
  std::string path(4096, '\0');
  return ::getcwd(path.data(), path.size()) == nullptr ? std::string() : path.substr(0, path.find('\0'));
}

std::string umask_now() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Umask:")) return line;
  }
  return {};
}

std::string environment_now() {
  std::string all;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
    all += std::string(*variable) + "\n";
  return all;
}

std::string locale_now() {
  const char* const name = std::setlocale(LC_ALL, nullptr);
  return name == nullptr ? "" : name;
}

// Looks before the library is loaded, and again during and after a round.
std::string stays(Context& context, std::string (*now)(), const std::string& what) {
  const std::string before = now();
  load(context);
  expect(now() == before, "Loading it changed " + what + ".");
  call_each(context, {}, [&](const Answer& answer) {
    expect(now() == before, what + " differed after " + answer.operation + ".");
  });
  exercise(context, 1);
  expect(now() == before, what + " differed after deinit.");
  return what + " stayed as it was.";
}

std::string signals(Context& context) { return stays(context, &signals_now, "The signal mask or a handler"); }
std::string directory(Context& context) { return stays(context, &directory_now, "The working directory"); }
std::string file_mask(Context& context) { return stays(context, &umask_now, "The umask"); }
std::string environment(Context& context) { return stays(context, &environment_now, "The environment"); }
std::string locale(Context& context) { return stays(context, &locale_now, "The locale"); }

std::string output(Context& context) {
  exercise(context, 1);
  return "It printed nothing.";
}

}  // namespace

Tests hygiene_tests() {
  const std::vector<std::string_view> first{"config.destroy", "errors.contained"};
  return {
      {"hygiene.descriptors", "No descriptors are left.", for_each, &descriptors, first},
      {"hygiene.threads", "No threads are left after deinit.", for_each, &threads, first},
      {"hygiene.children", "No child processes are left.", for_each, &child_processes, first},
      {"hygiene.signals", "Signal mask and handlers stay as they were.", for_each, &signals, first},
      {"hygiene.directory", "The working directory stays as it was.", for_each, &directory, first},
      {"hygiene.umask", "The umask stays as it was.", for_each, &file_mask, first},
      {"hygiene.environment", "The environment stays as it was.", for_each, &environment, first},
      {"hygiene.locale", "The locale stays as it was.", for_each, &locale, first},
      {"hygiene.output", "Nothing is printed on standard output or error.", for_each, &output, first, 1,
       true},
  };
}

}  // namespace rmgr::conform
