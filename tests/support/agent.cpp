#include "support/agent.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <thread>

extern char** environ;

namespace testkit {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

pid_t spawn(const std::vector<std::string>& argv, int output, const std::string& error_file,
            const std::vector<std::string>& environment = {}) {
  std::vector<char*> words;
  for (const std::string& word : argv)
    words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  std::vector<char*> variables;
  for (const std::string& variable : environment)
    variables.push_back(const_cast<char*>(variable.c_str()));
  for (char** variable = environ; *variable != nullptr; ++variable)
    variables.push_back(*variable);
  variables.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  if (output >= 0) posix_spawn_file_actions_adddup2(&actions, output, 1);
  if (!error_file.empty()) {
    posix_spawn_file_actions_addopen(&actions, 2, error_file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  }
  pid_t pid = -1;
  const int failed = posix_spawn(&pid, argv[0].c_str(), &actions, nullptr, words.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw std::runtime_error("cannot start " + argv[0]);
  return pid;
}

AttemptView view_of(const json& row) {
  const auto text = [&row](const char* name) {
    return row.contains(name) && row[name].is_string() ? row[name].get<std::string>() : std::string();
  };
  AttemptView view;
  view.id = text("id");
  view.policy = text("policy");
  view.state = text("state");
  view.outcome = text("outcome");
  view.reason = text("reason");
  view.pending = text("pending");
  if (row["pid"].is_number()) view.pid = row["pid"];
  if (row["exit_code"].is_number()) view.exit_code = row["exit_code"].get<std::int64_t>();
  view.clean_exit = row.value("clean_exit", false);
  view.out_of_memory = row.value("out_of_memory", false);
  view.owes_deregistration = row.value("owes_deregistration", false);
  const json& times = row["times"];
  view.demand_seen_ms = times.value("demand_seen_ms", std::int64_t{0});
  view.package_acquired_ms = times.value("package_acquired_ms", std::int64_t{0});
  view.materialized_ms = times.value("materialized_ms", std::int64_t{0});
  view.prepared_ms = times.value("prepared_ms", std::int64_t{0});
  view.registered_ms = times.value("registered_ms", std::int64_t{0});
  view.held_ms = times.value("held_ms", std::int64_t{0});
  view.started_ms = times.value("started_ms", std::int64_t{0});
  return view;
}

std::vector<AttemptView> views_of(const std::string& document) {
  std::vector<AttemptView> views;
  const json parsed = json::parse(document, nullptr, false);
  if (parsed.is_discarded() || !parsed.contains("attempts")) return views;
  for (const json& row : parsed["attempts"])
    views.push_back(view_of(row));
  return views;
}

int entries(const std::string& directory, const std::string& except = "") {
  std::error_code ignored;
  int count = 0;
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    if (entry.path().filename() != except) ++count;
  }
  return count;
}

// An adopted runner's shim is a child of init, which may take its time to reap it: a zombie is not alive.
bool alive(std::int64_t pid) {
  if (pid <= 0) return false;
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  return std::getline(stat, line) && line.find(") Z ") == std::string::npos;
}

}  // namespace

std::string run_program(const std::vector<std::string>& argv, int* exit_code) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
  const pid_t pid = spawn(argv, ends[1], "/dev/null");
  ::close(ends[1]);
  std::string output;
  char buffer[65536];
  for (ssize_t got = 0; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
    output.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (exit_code != nullptr) *exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return output;
}

std::string must_run(const std::vector<std::string>& argv, const std::string& what) {
  int code = -1;
  std::string said = run_program(argv, &code);
  if (code != 0) throw std::runtime_error(what);
  return said;
}

Agent::Agent(AgentSetup setup) : setup_(std::move(setup)) { write_configuration(); }

Agent::~Agent() {
  std::vector<AttemptView> live;
  if (pid_ > 0) live = live_attempts();
  kill_hard();
  // A test that failed half-way leaves no runner behind: SIGTERM makes a shim end its tree.
  for (const AttemptView& attempt : live) {
    if (attempt.state != "cleaned" && alive(attempt.pid)) ::kill(static_cast<pid_t>(attempt.pid), SIGTERM);
  }
}

void Agent::write_configuration() const {
  fs::create_directories(runtimes());
  fs::permissions(runtimes(), fs::perms(0711));
  const std::string token_file = setup_.directory + "/token";
  std::ofstream(token_file) << setup_.token << "\n";
  fs::permissions(token_file, fs::perms(0600));
  const std::string accounts = !setup_.provider_config.empty() ? setup_.provider_config
                               : ::geteuid() == 0
                                   ? accounts_.pool(AccountRange::count, setup_.provider_more)
                                   : "{allow_shared_account: true" + setup_.provider_more + "}";
  const std::string credential =
      setup_.credential.empty() ? "token: \"file:" + token_file + "\"" : setup_.credential;
  const std::string github = "{url: \"" + setup_.github_url + "\", " + credential + ", allow_http: true}\n";
  std::ostringstream yaml;
  yaml << "state: " << state() << "\n"
       << "host: {capacity: " << setup_.capacity << ", drain_timeout: " << setup_.drain_timeout << "}\n"
       << "polling: {quiet: " << setup_.poll << ", active: " << setup_.poll << ", allow_below_floor: true}\n"
       << "log: {level: debug, file: " << log_file() << "}\n"
       << "plugins: {directories: [" << setup_.plugins << (setup_.more_plugins.empty() ? "" : ", ")
       << setup_.more_plugins << "]}\n"
       << "gateways:\n  - name: github\n    plugin: github\n    required: true\n    config: " << github
       << "package_sources:\n  - name: packages\n    required: true\n";
  if (setup_.mirror.empty()) {
    yaml << "    plugin: github\n    config: " << github;
  } else {
    yaml << "    plugin: mirror\n    config: {directory: " << setup_.mirror << "}\n";
  }
  yaml << "providers:\n  - name: runners\n    plugin: " << setup_.provider
       << "\n    required: true\n    config: " << accounts << "\npolicies:\n";
  for (const PolicySpec& policy : setup_.policies) {
    yaml << "  - name: " << policy.name << "\n    target: " << policy.target << "\n    labels: [";
    for (std::size_t index = 0; index < policy.labels.size(); ++index) {
      yaml << (index > 0 ? ", " : "") << policy.labels[index];
    }
    yaml << "]\n    root: " << runtimes() << "/" << policy.name << "\n    min: " << policy.min
         << "\n    max: " << policy.max << "\n";
    if (policy.warm > 0) yaml << "    warm: " << policy.warm << "\n";
    if (!policy.workspace.empty()) yaml << "    workspace: " << policy.workspace << "\n";
    const auto map = [&yaml](const char* name, const auto& pairs) {
      if (pairs.empty()) return;
      yaml << "    " << name << ": {";
      for (std::size_t index = 0; index < pairs.size(); ++index)
        yaml << (index > 0 ? ", " : "") << pairs[index].first << ": " << pairs[index].second;
      yaml << "}\n";
    };
    map("timeouts", policy.timeouts);
    map("profile", policy.profile);
  }
  std::ofstream(config_file()) << yaml.str();
}

bool Agent::start(std::chrono::milliseconds limit) {
  pid_ = spawn({setup_.bin + "/runner-manager", "run", "--config", config_file()}, -1,
               setup_.directory + "/stderr.log", setup_.environment);
  const auto end = std::chrono::steady_clock::now() + limit;
  while (std::chrono::steady_clock::now() < end) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return false;
    }
    const json said = json::parse(status_json(), nullptr, false);
    // Without an agent `status` tells of the state directory instead.
    if (said.is_object() && said.value("running", true)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
  return false;
}

void Agent::kill_hard() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

bool Agent::ended() {
  if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
  return pid_ <= 0;
}

std::optional<int> Agent::terminate(std::chrono::milliseconds limit) {
  if (pid_ <= 0) return std::nullopt;
  ::kill(pid_, SIGTERM);
  const auto end = std::chrono::steady_clock::now() + limit;
  while (std::chrono::steady_clock::now() < end) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return std::nullopt;
}

std::string Agent::status_json() const {
  return run_program({setup_.bin + "/runner-manager", "status", "--json", "--config", config_file()},
                     nullptr);
}

std::vector<AttemptView> Agent::attempts() const {
  return views_of(run_program(
      {setup_.bin + "/runner-manager", "attempts", "--json", "--limit", "10000", "--config", config_file()},
      nullptr));
}

std::vector<AttemptView> Agent::live_attempts() const { return views_of(status_json()); }

std::vector<PolicyView> Agent::policies() const {
  std::vector<PolicyView> views;
  const json parsed = json::parse(status_json(), nullptr, false);
  if (parsed.is_discarded() || !parsed.contains("policies")) return views;
  for (const json& row : parsed["policies"]) {
    views.push_back({.name = row.value("name", ""),
                     .limited_by = row.value("limited_by", ""),
                     .remedy = row.value("remedy", ""),
                     .note = row.value("note", ""),
                     .queued = row.value("queued", 0),
                     .busy = row.value("busy", 0),
                     .active = row.value("active", 0),
                     .waiting = row.value("waiting", 0)});
  }
  return views;
}

Leftovers Agent::leftovers() const {
  Leftovers left;
  for (const AttemptView& attempt : attempts()) {
    if (attempt.state != "cleaned" || attempt.owes_deregistration) ++left.leases;
    if (alive(attempt.pid)) ++left.processes;
  }
  for (const PolicySpec& policy : setup_.policies) {
    left.directories += entries(runtimes() + "/" + policy.name, ".runner-manager-owner");
  }
  left.directories += entries(state() + "/processes");
  for (const std::string& ours : cgroup_directories()) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(ours, ignored)) {
      if (entry.is_directory(ignored)) ++left.cgroups;
    }
  }
  return left;
}

std::vector<std::string> Agent::cgroup_directories() const {
  const json said = json::parse(status_json(), nullptr, false);
  const std::string known = said.is_object() ? said.value("installation", std::string()) : "";
  if (!known.empty()) installation_ = known;
  std::vector<std::string> all;
  if (installation_.empty()) return all;
  const std::string name = "runner-manager-" + installation_.substr(0, 8);
  const auto look = [&](const fs::path& hierarchy) {
    std::error_code ignored;
    if (fs::is_directory(hierarchy / name, ignored)) all.push_back((hierarchy / name).string());
  };
  const fs::path mounts = "/sys/fs/cgroup";
  look(mounts);
  std::error_code ignored;
  for (const auto& hierarchy : fs::directory_iterator(mounts, ignored))
    look(hierarchy.path());
  return all;
}

std::int64_t Agent::peak_rss_bytes() const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::stoll(line.substr(6)) * 1024;
  }
  return 0;
}

}  // namespace testkit
