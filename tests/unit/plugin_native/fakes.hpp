// A host for one instance of the native provider: a map in memory, and either a process service that only
// writes down what it was asked, or the real one.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "process/process.hpp"
#include "rmgr/execution_provider.hpp"

namespace native::testing {

class Call {
 public:
  Call();
  [[nodiscard]] rmgr::Call view() const { return rmgr::Call(&abi_); }

 private:
  rmgr_call abi_{};
};

class FakeHost {
 public:
  FakeHost();
  // From now on processes are real.
  void use(agent::process::ProcessHost& processes) { processes_ = &processes; }
  [[nodiscard]] rmgr::Host view() const { return rmgr::Host(&abi_); }

  std::map<std::string, std::string> kv;
  rmgr_status refuse_put = RMGR_OK;

  // What the recording process service saw and answers.
  struct Spawned {
    std::string key, directory;
    std::vector<std::string> argv, environment;
    std::int64_t uid = 0, gid = 0;
    std::int64_t cpu_milli = 0, memory_bytes = 0, pids = 0;
    int nice = 0;
    bool no_new_privileges = false;
    std::vector<std::pair<std::string, std::uint64_t>> resource_limits;
    std::vector<std::string> hidden;
    std::vector<std::pair<std::string, std::string>> own;  // target, backing
  };
  rmgr::ProcessAbilities able;
  std::vector<Spawned> spawned;
  std::vector<std::string> asked;  // "release KEY NAME", "stop KEY GRACE", "forget KEY"
  std::string secret;
  rmgr_status release_answer = RMGR_OK;
  rmgr_status stop_answer = RMGR_OK;
  rmgr_process_state state{};

 private:
  static const void* RMGR_CALL service(void* ctx, const char* id);
  static rmgr_status RMGR_CALL spawn(void*, const rmgr_call*, const rmgr_process_spec*,
                                     const rmgr_identity_sink*, const rmgr_error*);
  static rmgr_status RMGR_CALL release(void*, const rmgr_call*, rmgr_str, const rmgr_process_identity*,
                                       rmgr_str, rmgr_secret, const rmgr_error*);
  static rmgr_status RMGR_CALL inspect(void*, const rmgr_call*, rmgr_str, const rmgr_process_identity*,
                                       rmgr_process_state*, const rmgr_error*);
  static rmgr_status RMGR_CALL stop(void*, const rmgr_call*, rmgr_str, const rmgr_process_identity*,
                                    std::int64_t, const rmgr_error*);
  static rmgr_status RMGR_CALL forget(void*, rmgr_str, const rmgr_error*);
  static std::uint32_t RMGR_CALL abilities(void*);

  rmgr_instance_host abi_{};
  rmgr_kv_service kv_{};
  rmgr_process_service process_{};
  agent::process::ProcessHost* processes_ = nullptr;
};

// A temporary directory that job accounts can pass through.
class Directory {
 public:
  Directory();
  ~Directory();
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void write_text(const std::string& path, const std::string& text, unsigned mode = 0644);
std::string read_text(const std::string& path);
bool eventually(const std::function<bool()>& condition);

// The status that `act` throws; ok if it returns.
rmgr::Status status_of(const std::function<void()>& act, std::string* message = nullptr);

}  // namespace native::testing
