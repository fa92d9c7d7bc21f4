#include <filesystem>
#include <ostream>
#include <sstream>
#include <system_error>

#include "cli/commands.hpp"
#include "cli/control_client.hpp"
#include "daemon/control_protocol.hpp"
#include "observe/text.hpp"

namespace agent::cli {

int failed(Surface& surface, const domain::Error& error, int exit_code) {
  std::istringstream lines(error.message);
  std::string line;
  for (bool first = true; std::getline(lines, line); first = false)
    surface.err << (first ? "runner-manager: " : "") << observe::escape_controls(line) << '\n';
  return exit_code;
}

std::optional<std::string> program_directory(Surface& surface) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) return program.parent_path().string();
  surface.err << "runner-manager: cannot find its own program through /proc: " << error.message()
              << "; mount /proc\n";
  return std::nullopt;
}

void print(Surface& surface, const std::string& file, const std::vector<config::Problem>& problems) {
  for (const config::Problem& problem : problems)
    surface.err << config::to_string(problem) << '\n';
  surface.err << file << ": " << problems.size() << " problem" << (problems.size() == 1 ? "" : "s")
              << "; nothing was started\n";
}

std::optional<config::Configuration> load(Surface& surface, const std::string& file) {
  config::Loaded loaded = config::load_file(file);
  if (loaded.configuration) return std::move(loaded.configuration);
  print(surface, file, loaded.problems);
  return std::nullopt;
}

std::optional<std::string> ask(Surface& surface, const Where& where, const std::string& request,
                               int& exit_code) {
  std::string socket = where.socket;
  if (socket.empty()) {
    auto configuration = load(surface, where.config);
    if (!configuration) {
      exit_code = kConfigurationRefused;
      return std::nullopt;
    }
    socket = configuration->control_socket;
  }
  return outcome_of(surface, send_request(socket, request), exit_code);
}

std::optional<std::string> outcome_of(Surface& surface, domain::Result<std::string> response,
                                      int& exit_code) {
  if (!response) {
    const bool absent = response.error().code == domain::ErrorCode::not_found;
    exit_code = failed(surface, response.error(), absent ? kNotRunning : kFailed);
    return std::nullopt;
  }
  auto result = daemon::control_outcome(*response);
  if (!result) {
    exit_code = failed(surface, result.error(), kFailed);
    return std::nullopt;
  }
  return std::move(*result);
}

}  // namespace agent::cli
