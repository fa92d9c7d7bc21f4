#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands.hpp"
#include "daemon/preflight.hpp"

namespace agent::cli {

int config_check(Surface& surface, const std::string& file, bool here, bool as_json) {
  config::Loaded loaded = config::load_file(file);
  if (here && loaded.configuration) {
    const auto directory = program_directory(surface);
    if (!directory) return kFailed;
    loaded.problems = daemon::preflight(loaded, file, *directory + "/rmgr-plugin-check",
                                        daemon::BrokenPlugin::is_a_problem);
  }
  if (as_json) {
    nlohmann::json problems = nlohmann::json::array();
    for (const config::Problem& problem : loaded.problems) {
      problems.push_back({{"file", problem.file},
                          {"line", problem.line},
                          {"column", problem.column},
                          {"message", problem.message},
                          {"text", problem.text}});
    }
    surface.out << nlohmann::json{{"file", file}, {"ok", loaded.problems.empty()}, {"problems", problems}}
                       .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
                << '\n';
  } else if (loaded.problems.empty()) {
    surface.out << file << ": no problems\n";
  } else {
    for (const config::Problem& problem : loaded.problems)
      surface.err << config::to_string(problem) << '\n';
  }
  return loaded.problems.empty() ? kOk : kConfigurationRefused;
}

}  // namespace agent::cli
