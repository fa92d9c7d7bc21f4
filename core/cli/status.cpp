#include <ostream>

#include "cli/commands.hpp"
#include "cli/control_client.hpp"
#include "cli/document.hpp"
#include "cli/exit_code.hpp"
#include "daemon/control_protocol.hpp"

namespace agent::cli {

int status(const StatusOptions& options, Context& context) {
  std::string socket = options.place.socket;
  if (socket.empty()) {
    const std::string& file = options.place.configuration;
    const auto configuration = load(file.empty() ? context.default_configuration : file, context);
    if (!configuration) return kConfigurationRefused;
    socket = configuration->control_socket;
  }
  const auto answer = ask(socket, daemon::control_request("status"));
  if (!answer) return report(answer.error(), context);
  if (options.json) {
    context.out << *answer << '\n';
    return kOk;
  }
  if (print_status(*answer, wall_clock_ms(), context.out)) return kOk;
  return report({domain::ErrorCode::bad_response, "the daemon's answer is not understood"}, context);
}

}  // namespace agent::cli
