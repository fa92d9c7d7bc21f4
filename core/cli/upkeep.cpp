// What an operator does to the state directory when no agent can: both refuse while one might.
#include <filesystem>
#include <ostream>

#include "cli/commands.hpp"
#include "cli/control_client.hpp"
#include "daemon/control_protocol.hpp"
#include "daemon/entropy.hpp"
#include "daemon/quarantine.hpp"
#include "plugin/host.hpp"
#include "plugin/manifest.hpp"

namespace agent::cli {

namespace {

using domain::Error;
using domain::Result;

constexpr domain::Millis kLockPatience{1'000};

struct State {
  journal::StateLock lock;
  std::unique_ptr<journal::Journal> journal;
};

// The journal of a state directory that no agent uses, for as long as this is kept.
Result<State> open_state(const std::string& directory, bool adopt) {
  auto lock = journal::StateLock::acquire(directory, kLockPatience);
  if (!lock) return lock.error();
  journal::OpenOptions open;
  open.path = directory + "/journal.db";
  open.machine = daemon::machine_id();
  open.installation = daemon::random_uuid();
  open.adopt_machine = adopt;
  auto opened = journal::Journal::open(open);
  if (!opened) return opened.error();
  return State{std::move(*lock), std::move(*opened)};
}

Result<std::string> digest_of(const config::Configuration& configuration, const std::string& id) {
  for (const plugin::Discovered& found : plugin::discover_plugins(configuration.plugin_directories, false)) {
    if (found.manifest.id != id) continue;
    if (found.refusal) return Error{domain::ErrorCode::invalid, *found.refusal, {}};
    return plugin::file_digest(found.path);
  }
  return Error{domain::ErrorCode::not_found,
               "there is no plugin of that id in the plugin directories of the configuration; see "
               "`runner-manager plugin list`",
               {}};
}

}  // namespace

int plugin_release(Surface& surface, const std::string& config_file, const std::string& plugin) {
  const auto configuration = load(surface, config_file);
  if (!configuration) return kConfigurationRefused;
  const auto digest = digest_of(*configuration, plugin);
  if (!digest) return failed(surface, digest.error(), kFailed);
  auto response = send_request(configuration->control_socket,
                               daemon::control_request("release_plugin", "digest", *digest));
  if (response || response.error().code != domain::ErrorCode::not_found) {
    int exit_code = kFailed;
    if (!outcome_of(surface, std::move(response), exit_code)) return exit_code;
  } else {
    auto state = open_state(configuration->state_directory, false);
    if (!state) return failed(surface, state.error(), kStateRefused);
    if (auto released = daemon::Quarantine(*state->journal).release(*digest); !released)
      return failed(surface, released.error(), kStateRefused);
  }
  surface.out << "released: the next start of the agent tries this file again\n";
  return kOk;
}

int adopt_installation(Surface& surface, const std::string& config_file) {
  const auto configuration = load(surface, config_file);
  if (!configuration) return kConfigurationRefused;
  const std::string journal = configuration->state_directory + "/journal.db";
  std::error_code ignored;
  if (!std::filesystem::exists(journal, ignored)) {
    return failed(surface,
                  {domain::ErrorCode::not_found, "there is no journal " + journal + " to be taken over", {}},
                  kStateRefused);
  }
  const auto state = open_state(configuration->state_directory, true);
  if (!state) return failed(surface, state.error(), kStateRefused);
  surface.out << "adopted: installation " << state->journal->installation().str()
              << " belongs to this machine now\n";
  return kOk;
}

}  // namespace agent::cli
