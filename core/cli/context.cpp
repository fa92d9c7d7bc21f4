#include "cli/context.hpp"

#include <ostream>

#include "cli/exit_code.hpp"
#include "observe/text.hpp"

namespace agent::cli {

std::optional<config::Configuration> load(const std::string& path, Context& context) {
  config::Loaded loaded = config::load_file(path);
  for (const config::Problem& problem : loaded.problems)
    context.err << config::to_string(problem) << '\n';
  return std::move(loaded.configuration);
}

int report(const domain::Error& error, Context& context) {
  context.err << "runner-manager: " << observe::escape_controls(error.message) << '\n';
  return error.code == domain::ErrorCode::unreachable ? kNotRunning : kFailed;
}

}  // namespace agent::cli
