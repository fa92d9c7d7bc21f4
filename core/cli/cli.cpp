#include "cli/cli.hpp"

#include <CLI/CLI.hpp>
#include <ostream>

#include "cli/commands.hpp"

namespace agent::cli {

namespace {

constexpr const char* kExitCodes =
    "Exit codes: 0 ok, 1 failed, 2 usage, 3 configuration refused, 4 no agent is running,\n"
    "5 the state directory cannot be used, 6 a required plugin is not ready.";

void add_where(CLI::App& command, Where& where) {
  CLI::Option* config = command.add_option("--config", where.config, "the agent's configuration file");
  CLI::Option* socket = command.add_option("--socket", where.socket, "the agent's control socket");
  config->excludes(socket);
  command.callback([&where] {
    if (where.config.empty() && where.socket.empty()) throw CLI::RequiredError("--config or --socket");
  });
}

}  // namespace

int run(const std::vector<std::string>& arguments, Surface& surface) {
  CLI::App app("Runs ephemeral GitHub Actions runners on this machine.", "runner-manager");
  app.require_subcommand(1);
  app.footer(kExitCodes);
  std::string file;
  bool as_json = false;
  std::int64_t limit = 50;
  std::vector<std::string> directories;
  Where where;

  CLI::App* run_command =
      app.add_subcommand("run", "Run the agent until SIGTERM; live runners stay for the next start");
  run_command->add_option("--config", file, "the configuration file")->required();

  CLI::App* status_command =
      app.add_subcommand("status", "What a running agent does, and what keeps it from doing more");
  add_where(*status_command, where);
  status_command->add_flag("--json", as_json, "one JSON document");

  CLI::App* attempts_command = app.add_subcommand("attempts", "The newest attempts, finished ones included");
  add_where(*attempts_command, where);
  attempts_command->add_flag("--json", as_json, "one JSON document");
  attempts_command->add_option("--limit", limit, "how many")->check(CLI::Range(1, 100'000));

  std::string attempt;
  bool proved_gone = false;
  CLI::App* forget_command = attempts_command->add_subcommand(
      "forget", "Wait no longer for an attempt of which you have proof that nothing runs");
  forget_command->add_option("id", attempt, "the attempt's id")->required();
  forget_command
      ->add_flag("--proved-gone", proved_gone, "you have proof: on this machine, nothing of it runs")
      ->required();
  add_where(*forget_command, where);

  std::string what;
  CLI::App* explain_command =
      app.add_subcommand("explain", "Why a queued job has no runner, or a policy starts none");
  explain_command->add_option("what", what, "the number of a job, or the name of a policy")->required();
  add_where(*explain_command, where);
  explain_command->add_flag("--json", as_json, "one JSON document");

  CLI::App* reload_command = app.add_subcommand(
      "reload", "Read the configuration file again: all of what it says counts from now on, or nothing");
  add_where(*reload_command, where);

  CLI::App* drain_command = app.add_subcommand("drain", "Admit no more runners and end; live runners stay");
  add_where(*drain_command, where);

  CLI::App* config_command = app.add_subcommand("config", "About configuration files");
  config_command->require_subcommand(1);
  CLI::App* check_command =
      config_command->add_subcommand("check", "Print every problem of a configuration file");
  check_command->add_option("file", file, "the configuration file")->required();
  bool here = false;
  check_command->add_flag("--here", here,
                          "also what only this machine can tell: what its plugins take, and missing secrets");
  check_command->add_flag("--json", as_json, "one JSON document");

  CLI::App* reference_command =
      config_command->add_subcommand("reference", "Every key that a file may have, as a Markdown page");
  reference_command->add_option("--plugin-dir", directories,
                                "describe the plugins of this directory too; may be given several times");
  std::vector<std::string> plugins;
  reference_command->add_option("--plugin", plugins, "only this one; may be given several times");

  CLI::App* plugin_command = app.add_subcommand("plugin", "About plugins");
  plugin_command->require_subcommand(1);
  CLI::App* list_command =
      plugin_command->add_subcommand("list", "The plugins that are there, without running any");
  list_command->add_option("--config", file, "take the plugin directories from this configuration");
  list_command->add_option("--plugin-dir", directories, "a plugin directory; may be given several times");
  list_command->add_flag("--json", as_json, "one JSON document");
  list_command->callback([&] {
    if (file.empty() && directories.empty()) throw CLI::RequiredError("--config or --plugin-dir");
  });

  std::string plugin;
  CLI::App* release_command = plugin_command->add_subcommand(
      "release", "Lift the quarantine of a plugin's file; the next start tries it again");
  release_command->add_option("plugin", plugin, "the plugin's id")->required();
  release_command->add_option("--config", file, "the agent's configuration file")->required();

  CLI::App* adopt_command = app.add_subcommand(
      "adopt-installation", "Take over a state directory that was written on another machine");
  adopt_command->add_option("--config", file, "the configuration that names the state directory")->required();

  CLI::App* suite_command = plugin_command->add_subcommand(
      "check", "Run the conformance suite on a plugin library: PLUGIN and the options of rmgr-conform run");
  suite_command->prefix_command();
  suite_command->callback([&] {
    if (suite_command->remaining().empty()) throw CLI::RequiredError("PLUGIN");
  });

  CLI::App* version_command = app.add_subcommand("version", "Print the version");
  for (CLI::App* command : {run_command, status_command, attempts_command, forget_command, explain_command,
                            reload_command, drain_command, check_command, reference_command, list_command,
                            release_command, suite_command, adopt_command, version_command}) {
    command->footer(kExitCodes);
  }

  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    return app.exit(error, surface.out, surface.err) == 0 ? kOk : kUsage;
  }
  if (run_command->parsed()) return run_daemon(surface, file);
  if (status_command->parsed()) return status(surface, where, as_json);
  if (forget_command->parsed()) return forget_attempt(surface, where, attempt);
  if (attempts_command->parsed()) return attempts(surface, where, as_json, limit);
  if (explain_command->parsed()) return explain(surface, where, what, as_json);
  if (reload_command->parsed()) return reload(surface, where);
  if (drain_command->parsed()) return drain(surface, where);
  if (check_command->parsed()) return config_check(surface, file, here, as_json);
  if (reference_command->parsed()) return config_reference(surface, directories, plugins);
  if (list_command->parsed()) return plugin_list(surface, file, directories, as_json);
  if (release_command->parsed()) return plugin_release(surface, file, plugin);
  if (adopt_command->parsed()) return adopt_installation(surface, file);
  if (suite_command->parsed()) return plugin_check(surface, suite_command->remaining());
  return version(surface);
}

}  // namespace agent::cli
