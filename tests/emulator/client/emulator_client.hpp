// Starts and drives the emulator from a test. Calls block, each at most ten seconds, and throw
// std::runtime_error when the emulator does not answer or refuses: in a test that is a failure of the test
// itself. Not for several threads at once; make one EmulatorClient for each.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace emulator {

struct JobSpec {
  std::string repository{};
  std::vector<std::string> labels{};
  std::string script = "true";
  int count = 1;               // jobs of one run, like a matrix
  bool separate_runs = false;  // each job in a run of its own
  bool waiting = false;        // not queued until release()
  std::int64_t runner_group_id = 0;
  std::string name = "job";
};

struct JobView {
  std::int64_t id = 0;
  std::int64_t run_id = 0;
  std::string repository;
  std::string name;
  std::vector<std::string> labels;
  std::string status;  // waiting, queued, in_progress, completed
  std::string result;  // success, failure, cancelled
  int exit_code = -1;
  std::int64_t queued_at_ms = 0;  // times are wall-clock milliseconds, 0 until it happened
  std::int64_t assigned_at_ms = 0;
  std::int64_t started_at_ms = 0;
  std::int64_t completed_at_ms = 0;
  std::int64_t listener_exec_at_ms = 0;
  std::int64_t runner_id = 0;
  std::string runner_name;
  int starts = 0;
  std::vector<std::string> started_by;
  int assignments = 0;
};

struct RunnerView {
  std::int64_t id = 0;
  std::string name;
  std::string scope;
  std::vector<std::string> labels;
  std::int64_t runner_group_id = 0;
  std::string work_folder;
  bool registered = false;
  std::int64_t registered_at_ms = 0;
  std::int64_t removed_at_ms = 0;
  std::string removed_by;  // "", api, ephemeral
  bool online = false;
  bool busy = false;
  std::int64_t listener_exec_at_ms = 0;
  std::int64_t listener_pid = 0;
  std::string version;
  std::int64_t job_id = 0;  // its latest job
};

struct Summary {
  int waiting = 0;
  int queued = 0;
  int in_progress = 0;
  int completed = 0;  // failed ones included
  int failed = 0;     // completed with another result than success
  int started_twice = 0;
  int registrations = 0;
  int registered_total = 0;
  std::int64_t requests = 0;
};

struct RequestView {
  std::int64_t sequence = 0;
  std::int64_t at_ms = 0;
  std::string method;
  std::string path;  // without /api/v3
  std::string query;
  int status = 0;  // 0: no answer
  std::string fault;
};

// See README.md for the actions and what each field means; what is not set is left to the emulator.
struct FaultSpec {
  std::string action{};
  std::string method = "*";
  std::string path{};  // glob; empty: the action's own, mostly everything
  std::string query = "*";
  std::string target = "*";
  int skip = 0;
  int count = 1;  // negative: always
  std::int64_t delay_ms = 0;
  int status = 0;
  std::string body{};
  std::string content_type{};
  int retry_after = -1;
  std::map<std::string, std::string> headers{};
  std::optional<bool> execute{};
  std::int64_t as_of_ms = 0;
  std::int64_t for_ms = 0;
};

// Only what is set changes.
struct SettingsChange {
  std::optional<std::int64_t> offline_after_ms{};
  std::optional<std::int64_t> accept_within_ms{};
  std::optional<std::int64_t> lost_after_ms{};
  std::optional<std::int64_t> removal_after_ms{};
  std::optional<std::int64_t> rate_limit{};
  std::optional<std::int64_t> rate_remaining{};
  std::optional<std::string> token{};
  std::optional<std::int64_t> token_expires_at_ms{};
  std::optional<std::int64_t> clock_offset_ms{};
};

struct InstallationSpec {
  std::int64_t id = 0;
  std::string account;
};

// Only what is set changes; there is one App, and none before its public key is given.
struct AppChange {
  std::optional<std::int64_t> id{};
  std::optional<std::string> client_id{};
  std::optional<std::string> public_key{};  // PEM
  std::optional<bool> revoked{};            // the key
  std::optional<std::int64_t> token_lifetime_ms{};
  std::vector<InstallationSpec> installations{};  // added
  std::optional<std::int64_t> suspend{};
  std::optional<std::int64_t> resume{};
  std::optional<std::int64_t> uninstall{};
  bool expire_tokens = false;  // all that were handed out so far
};

struct ApiReply {
  int status = 0;                              // 0: there was no whole answer
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

struct JitRegistration {
  std::int64_t id = 0;
  std::string encoded_jit_config;
};

class EmulatorClient {
 public:
  EmulatorClient(std::string url, std::string token);

  void add_repository(const std::string& name, const std::vector<std::int64_t>& runner_groups = {}) const;
  std::vector<std::int64_t> queue(const JobSpec& spec) const;
  void release(std::int64_t job) const;
  void cancel(std::int64_t job) const;
  std::vector<std::int64_t> rerun(std::int64_t job) const;  // the job's whole run; its new jobs

  [[nodiscard]] std::vector<JobView> jobs() const;
  [[nodiscard]] JobView job(std::int64_t id) const;
  [[nodiscard]] std::vector<RunnerView> runners() const;  // all that ever were
  [[nodiscard]] RunnerView runner(std::int64_t id) const;
  [[nodiscard]] Summary summary() const;
  // The last requests whose method is this ("*": any) and whose path matches this glob.
  [[nodiscard]] std::vector<RequestView> requests(const std::string& method = "*",
                                                  const std::string& path = "*") const;
  void clear_requests() const;

  std::int64_t add_fault(const FaultSpec& fault) const;
  void remove_fault(std::int64_t id) const;
  // How many requests have met it, also those that are not answered yet.
  [[nodiscard]] std::int64_t fault_hits(std::int64_t id) const;
  void clear_faults() const;
  void change_settings(const SettingsChange& change) const;
  void change_app(const AppChange& change) const;
  void deprecate(const std::string& runner_version) const;
  // `checksum`: empty publishes the true one, "absent" none, anything else as it stands.
  void offer_package(const std::string& file, const std::string& checksum = "") const;
  void withdraw_packages() const;

  // Asks every 20 ms until it holds; false when the time is over.
  [[nodiscard]] bool wait_until(const std::function<bool(const Summary&)>& holds,
                                std::chrono::milliseconds limit = std::chrono::seconds(30)) const;
  [[nodiscard]] bool wait_completed(int jobs,
                                    std::chrono::milliseconds limit = std::chrono::seconds(30)) const;
  [[nodiscard]] bool wait_for_runner(std::int64_t id, const std::function<bool(const RunnerView&)>& holds,
                                     std::chrono::milliseconds limit = std::chrono::seconds(30)) const;
  [[nodiscard]] bool wait_for_job(std::int64_t id, const std::function<bool(const JobView&)>& holds,
                                  std::chrono::milliseconds limit = std::chrono::seconds(30)) const;

  // A call of the REST API with this client's token, e.g. ("GET", "/repos/o/r/actions/runners").
  ApiReply api(const std::string& method, const std::string& path, const std::string& body = "",
               const std::map<std::string, std::string>& headers = {}) const;
  // Any call, without a token of our own.
  ApiReply call(const std::string& method, const std::string& target, const std::string& body = "",
                const std::map<std::string, std::string>& headers = {}) const;
  // Throws unless it was created.
  JitRegistration register_runner(const std::string& scope, const std::string& name,
                                  const std::vector<std::string>& labels) const;

 private:
  std::string url_;
  std::string token_;
};

struct EmulatorOptions {
  std::string program{};  // empty: the one that was built
  std::string token = "emulator-test-token";
  std::uint16_t port = 0;
  std::vector<std::string> packages{};  // empty: the package that was built
  std::vector<std::string> repositories{};
  std::vector<std::string> arguments{};  // further ones
};

// The package that the build made, with an absolute path.
std::string built_runner_package();

// One running emulator. The process ends with this object, and also when this process dies.
class EmulatorProcess {
 public:
  explicit EmulatorProcess(const EmulatorOptions& options = {});
  ~EmulatorProcess();
  EmulatorProcess(const EmulatorProcess&) = delete;
  EmulatorProcess& operator=(const EmulatorProcess&) = delete;

  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] const std::string& token() const { return token_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  // To drive it; valid as long as this object.
  [[nodiscard]] const EmulatorClient& client() const { return *client_; }
  const EmulatorClient* operator->() const { return &*client_; }
  // Ends the process and returns its exit code (128 + signal if one killed it); nothing if it had ended
  // before.
  std::optional<int> stop();

 private:
  pid_t pid_ = -1;
  int input_ = -1;  // our end of its standard input; it stops when this closes
  std::string url_;
  std::string token_;
  std::uint16_t port_ = 0;
  std::optional<EmulatorClient> client_;
};

}  // namespace emulator
