#include <ostream>

#include "cli/commands.hpp"
#include "cli/control_client.hpp"
#include "cli/document.hpp"
#include "cli/exit_code.hpp"
#include "daemon/control_protocol.hpp"
#include "daemon/status.hpp"
#include "journal/journal.hpp"

namespace agent::cli {
namespace {

// What a daemon that does not run would have answered; reading never changes its journal.
domain::Result<std::string> read_journal(const std::string& state_directory, std::int64_t limit) {
  journal::OpenOptions options;
  options.path = state_directory + "/journal.db";
  options.read_only = true;
  options.exclusive = false;
  options.check = false;
  auto opened = journal::Journal::open(options);
  if (!opened) return opened.error();
  auto rows = (*opened)->recent(limit);
  if (!rows) return rows.error();
  return daemon::attempts_json(*rows);
}

int print(const std::string& json, const AttemptsOptions& options, Context& context) {
  if (options.json) {
    context.out << json << '\n';
    return kOk;
  }
  if (print_attempts(json, wall_clock_ms(), context.out)) return kOk;
  return report({domain::ErrorCode::bad_response, "the daemon's answer is not understood"}, context);
}

}  // namespace

int attempts(const AttemptsOptions& options, Context& context) {
  const std::string request = daemon::control_request("attempts", "limit", options.limit);
  if (!options.place.socket.empty()) {
    const auto answer = ask(options.place.socket, request);
    return answer ? print(*answer, options, context) : report(answer.error(), context);
  }
  const std::string& file = options.place.configuration;
  const auto configuration = load(file.empty() ? context.default_configuration : file, context);
  if (!configuration) return kConfigurationRefused;
  const auto answer = ask(configuration->control_socket, request);
  if (answer) return print(*answer, options, context);
  if (answer.error().code != domain::ErrorCode::unreachable) return report(answer.error(), context);
  const auto read = read_journal(configuration->state_directory, options.limit);
  if (read) return print(*read, options, context);
  report(read.error(), context);
  return kStateUnusable;
}

}  // namespace agent::cli
