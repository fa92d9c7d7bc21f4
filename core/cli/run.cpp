#include "cli/commands.hpp"
#include "cli/exit_code.hpp"

namespace agent::cli {

int run_daemon(const std::string& configuration, Context& context) {
  const auto loaded = load(configuration, context);
  if (!loaded) return kConfigurationRefused;
  return context.run_daemon(*loaded, daemon::RunOptions{context.program_directory});
}

}  // namespace agent::cli
