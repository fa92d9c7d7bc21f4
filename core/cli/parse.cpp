// The one file that knows the parser of command lines.
#include <CLI/CLI.hpp>
#include <ostream>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"

namespace agent::cli {
namespace {

void add_place(CLI::App& command, Place& place) {
  CLI::Option* socket = command.add_option("--socket", place.socket, "the daemon's control socket");
  command.add_option("--config", place.configuration, "the configuration that says where the socket is")
      ->excludes(socket);
}

CLI::App* add(CLI::App& parent, const char* name, const char* purpose) {
  CLI::App* command = parent.add_subcommand(name, purpose);
  command->footer(kExitCodesHelp);
  return command;
}

}  // namespace

int dispatch(const std::vector<std::string>& arguments, Context& context) {
  CLI::App app("Runs ephemeral GitHub Actions runners on this machine.", "runner-manager");
  app.require_subcommand(1);
  app.footer(kExitCodesHelp);
  int exit_code = kOk;

  std::string run_configuration = context.default_configuration;
  CLI::App* run = add(app, "run", "run the daemon in the foreground, until SIGTERM or SIGINT");
  run->add_option("--config", run_configuration, "the configuration file")->capture_default_str();
  run->callback([&] { exit_code = run_daemon(run_configuration, context); });

  StatusOptions status_options;
  CLI::App* show = add(app, "status", "show policies, plugins, targets and attempts of the running daemon");
  add_place(*show, status_options.place);
  show->add_flag("--json", status_options.json, "one JSON document, as the daemon gave it");
  show->callback([&] { exit_code = status(status_options, context); });

  AttemptsOptions attempts_options;
  CLI::App* list = add(app, "attempts", "list attempts, the newest first; without a daemon from its journal");
  add_place(*list, attempts_options.place);
  list->add_option("--limit", attempts_options.limit, "how many at most")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  list->add_flag("--json", attempts_options.json, "one JSON document");
  list->callback([&] { exit_code = attempts(attempts_options, context); });

  CLI::App* config = app.add_subcommand("config", "look at a configuration");
  config->require_subcommand(1);
  ConfigCheckOptions check_options;
  CLI::App* check = add(*config, "check", "check a configuration file without starting anything");
  check->add_option("FILE", check_options.file, "the configuration file")->required();
  check->add_flag("--json", check_options.json, "one JSON document with every problem");
  check->callback([&] { exit_code = config_check(check_options, context); });

  CLI::App* plugin = app.add_subcommand("plugin", "look at plugins");
  plugin->require_subcommand(1);
  PluginListOptions plugin_options;
  CLI::App* plugins = add(*plugin, "list", "list the plugins that are installed; runs none of their code");
  CLI::Option* directory = plugins->add_option("--plugin-dir", plugin_options.directories,
                                               "a directory to look in; may be repeated");
  plugins
      ->add_option("--config", plugin_options.configuration, "the configuration that names the directories")
      ->excludes(directory);
  plugins->add_flag("--json", plugin_options.json, "one JSON document");
  plugins->callback([&] { exit_code = plugin_list(plugin_options, context); });

  add(app, "version", "print the version")->callback([&] { exit_code = version(context); });

  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& stop) {
    // Help is a parse error of this library, with the exit code 0.
    return app.exit(stop, context.out, context.err) == 0 ? kOk : kUsage;
  }
  return exit_code;
}

}  // namespace agent::cli
