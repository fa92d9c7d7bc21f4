// rmgr-hostile KIND PORT [NAME=VALUE]...: a job that attacks what it runs on. Only for tests.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "hostile/job/attacks.hpp"

int main(int count, char** words) {
  const std::map<std::string, void (*)(const hostile::Words&)> kinds = {
      {"fork_bomb", hostile::fork_bomb},
      {"memory_hog", hostile::memory_hog},
      {"disk_filler", hostile::disk_filler},
      {"ipc_hoarder", hostile::ipc_hoarder},
      {"signaller", hostile::signaller},
      {"reader", hostile::reader},
      {"memory_reader", hostile::memory_reader},
      {"kernel_tricks", hostile::kernel_tricks},
      {"daemons", hostile::daemons},
      {"late_writer", hostile::late_writer},
      {"stopper", hostile::stopper},
      {"setuid_leaver", hostile::setuid_leaver},
      {"squatter", hostile::squatter},
      {"trap_layer", hostile::trap_layer},
      {"closed_doors", hostile::closed_doors}};
  const auto kind = count > 2 ? kinds.find(words[1]) : kinds.end();
  if (kind == kinds.end()) {
    std::fprintf(stderr, "usage: rmgr-hostile KIND PORT [NAME=VALUE]...\n");
    return 2;
  }
  hostile::Words given;
  for (int at = 3; at < count; ++at) {
    const std::string word = words[at];
    given[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  }
  hostile::open_report(std::atoi(words[2]));
  hostile::note("begun");
  kind->second(given);
  hostile::note("over");
  return 0;
}
