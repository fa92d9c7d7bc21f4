#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ostream>

#include "cli/commands.hpp"

namespace agent::cli {

// The suite is a program of its own and takes this one's place, so that its exit code is this command's.
int plugin_check(Surface& surface, const std::vector<std::string>& arguments) {
  const auto directory = program_directory(surface);
  if (!directory) return kFailed;
  const std::string program = *directory + "/rmgr-conform";
  std::vector<std::string> words{program, "run"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  surface.out.flush();
  surface.err.flush();
  ::execv(program.c_str(), argv.data());
  surface.err << "runner-manager: " << program << " cannot be started (" << std::strerror(errno)
              << "); install the SDK's tools beside this program\n";
  return kFailed;
}

}  // namespace agent::cli
