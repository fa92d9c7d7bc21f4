#include <ostream>

#include "cli/commands.hpp"
#include "cli/document.hpp"
#include "cli/exit_code.hpp"

namespace agent::cli {

int config_check(const ConfigCheckOptions& options, Context& context) {
  const config::Loaded loaded = config::load_file(options.file);
  const int exit_code = loaded.configuration ? kOk : kConfigurationRefused;
  if (options.json) {
    context.out << problems_json(options.file, loaded) << '\n';
    return exit_code;
  }
  for (const config::Problem& problem : loaded.problems)
    context.err << config::to_string(problem) << '\n';
  if (loaded.configuration) {
    context.out << options.file << ": in order, " << loaded.configuration->policies.size()
                << (loaded.configuration->policies.size() == 1 ? " policy" : " policies") << '\n';
  } else {
    context.err << options.file << ": " << loaded.problems.size()
                << (loaded.problems.size() == 1 ? " problem" : " problems") << '\n';
  }
  return exit_code;
}

}  // namespace agent::cli
