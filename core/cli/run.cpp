#include <ostream>

#include "cli/commands.hpp"
#include "daemon/preflight.hpp"
#include "daemon/version.hpp"

namespace agent::cli {

int run_daemon(Surface& surface, const std::string& config_file) {
  const auto directory = program_directory(surface);
  if (!directory) return kFailed;
  config::Loaded loaded = config::load_file(config_file);
  if (loaded.configuration)
    loaded.problems = daemon::preflight(loaded, config_file, *directory + "/rmgr-plugin-check",
                                        daemon::BrokenPlugin::is_left_to_the_start);
  if (!loaded.problems.empty()) {
    print(surface, config_file, loaded.problems);
    return kConfigurationRefused;
  }
  return surface.run_agent(*loaded.configuration,
                           {.program_directory = *directory, .config_file = config_file});
}

int version(Surface& surface) {
  surface.out << "runner-manager " << daemon::kVersion << '\n';
  return kOk;
}

}  // namespace agent::cli
