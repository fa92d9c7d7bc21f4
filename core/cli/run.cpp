#include <climits>
#include <filesystem>
#include <ostream>

#include "cli/commands.hpp"
#include "daemon/version.hpp"

namespace agent::cli {

int run_daemon(Surface& surface, const std::string& config_file) {
  auto configuration = load(surface, config_file);
  if (!configuration) return kConfigurationRefused;
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    surface.err << "runner-manager: cannot find its own program through /proc: " << error.message()
                << "; mount /proc\n";
    return kFailed;
  }
  return surface.run_agent(*configuration, {.program_directory = program.parent_path().string()});
}

int version(Surface& surface) {
  surface.out << "runner-manager " << daemon::kVersion << '\n';
  return kOk;
}

}  // namespace agent::cli
