// The hostile jobs: what each tries, what stops it, and what the agent must report of it.
#pragma once

#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace hostile {

struct Kind {
  std::string name;
  std::string program;  // the word for rmgr-hostile
  std::string tries;
  std::string stopped_by;
  std::vector<std::string> outcomes;  // "outcome/reason", any of these
  std::vector<std::pair<std::string, std::string>> timeouts = {};
  std::vector<std::pair<std::string, std::string>> profile = {};
  bool small_disk = false;  // its runtimes are on a filesystem of 64 MiB
  bool victim = false;      // another job runs beside it
  bool shared_tmp = false;  // jobs have no /tmp of their own
  bool out_of_memory = false;
};

// GoogleTest names a test by it.
void PrintTo(const Kind& kind, std::ostream* out);

const std::vector<Kind>& kinds();

}  // namespace hostile
