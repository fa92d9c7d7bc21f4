// What stands behind the process service of a test host: a script, or real processes (real_processes.hpp).
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "rmgr/host.hpp"

namespace rmgr::testing {

// The contract is rmgr.process/1; failures are thrown as rmgr::Error.
class Processes {
 public:
  virtual ~Processes() = default;
  virtual ProcessIdentity spawn_held(const ProcessSpec& spec) = 0;
  virtual void release(std::string_view key, const ProcessIdentity& identity, std::string_view secret_name,
                       SecretView secret) = 0;
  virtual ProcessState inspect(std::string_view key, const ProcessIdentity& identity) = 0;
  virtual void stop(std::string_view key, const ProcessIdentity& identity, Millis grace) = 0;
  virtual void forget(std::string_view key) = 0;
  [[nodiscard]] virtual ProcessAbilities abilities() const { return {}; }
};

enum class ProcessStep { spawn_held, release, inspect, stop, forget };

// Nothing runs: a test says what happens. Thread-safe.
class ScriptedProcesses final : public Processes {
 public:
  // --- the script
  void exit(std::string_view key, int code) { end(key, {ProcessStatus::exited, code, 0, false}); }
  void kill(std::string_view key, int signal, bool out_of_memory = false) {
    end(key, {ProcessStatus::exited, 0, signal, out_of_memory});
  }
  // Its gate closed before it was released.
  void vanish(std::string_view key) { end(key, {ProcessStatus::missing, 0, 0, false}); }
  // The next such step fails; what the step does is not done.
  void fail_next(ProcessStep step, Error error) {
    const std::lock_guard lock(mutex_);
    failures_.insert_or_assign(step, std::move(error));
  }
  // A machine that can do everything, unless told otherwise.
  void set_abilities(ProcessAbilities able) {
    const std::lock_guard lock(mutex_);
    able_ = able;
  }
  // Stopping answers `busy` as long as this is set.
  void refuse_to_stop(bool refuse = true) {
    const std::lock_guard lock(mutex_);
    stubborn_ = refuse;
  }

  // --- what the plugin did
  [[nodiscard]] std::optional<ProcessSpec> spec(std::string_view key) const {
    const std::lock_guard lock(mutex_);
    const auto found = children_.find(std::string(key));
    return found == children_.end() ? std::nullopt : std::optional(found->second.spec);
  }
  // Whether the process was released with exactly this variable and value.
  [[nodiscard]] bool got_secret(std::string_view key, std::string_view name, std::string_view value) const {
    const std::lock_guard lock(mutex_);
    const auto found = children_.find(std::string(key));
    return found != children_.end() && found->second.secret_name == name && found->second.secret == value;
  }
  // Keys that were spawned and not forgotten.
  [[nodiscard]] std::size_t known() const {
    const std::lock_guard lock(mutex_);
    return children_.size();
  }

  // --- the service
  ProcessIdentity spawn_held(const ProcessSpec& spec) override {
    const std::lock_guard lock(mutex_);
    fail_if_told(ProcessStep::spawn_held);
    Child& child = children_[spec.key];
    if (child.identity.pid != 0 && child.state.status == ProcessStatus::running)
      throw Error(Status::exists, "A process of that key runs.");
    child = {spec, {next_pid_++, 77, "test-boot"}, {ProcessStatus::prepared, 0, 0, false}, "", ""};
    return child.identity;
  }
  void release(std::string_view key, const ProcessIdentity& identity, std::string_view secret_name,
               SecretView secret) override {
    const std::lock_guard lock(mutex_);
    fail_if_told(ProcessStep::release);
    Child* child = find(key, identity);
    if (child == nullptr || child->state.status != ProcessStatus::prepared)
      throw Error(Status::not_found, "No process of that identity is held.");
    child->secret_name = secret_name;
    child->secret = secret.reveal();
    child->state.status = ProcessStatus::running;
  }
  ProcessState inspect(std::string_view key, const ProcessIdentity& identity) override {
    const std::lock_guard lock(mutex_);
    fail_if_told(ProcessStep::inspect);
    const Child* child = find(key, identity);
    return child == nullptr ? ProcessState{} : child->state;
  }
  void stop(std::string_view key, const ProcessIdentity& identity, Millis /*grace*/) override {
    const std::lock_guard lock(mutex_);
    fail_if_told(ProcessStep::stop);
    Child* child = find(key, identity);
    if (child == nullptr) return;
    if (stubborn_) throw Error(Status::busy, "The process does not end.");
    if (child->state.status == ProcessStatus::running) child->state = {ProcessStatus::exited, 0, 15, false};
    if (child->state.status == ProcessStatus::prepared) child->state.status = ProcessStatus::missing;
  }
  void forget(std::string_view key) override {
    const std::lock_guard lock(mutex_);
    fail_if_told(ProcessStep::forget);
    children_.erase(std::string(key));
  }
  [[nodiscard]] ProcessAbilities abilities() const override {
    const std::lock_guard lock(mutex_);
    return able_;
  }

 private:
  struct Child {
    ProcessSpec spec;
    ProcessIdentity identity;
    ProcessState state;
    std::string secret_name;
    std::string secret;
  };
  Child* find(std::string_view key, const ProcessIdentity& identity) {
    const auto found = children_.find(std::string(key));
    return found == children_.end() || found->second.identity != identity ? nullptr : &found->second;
  }
  void end(std::string_view key, ProcessState state) {
    const std::lock_guard lock(mutex_);
    const auto found = children_.find(std::string(key));
    if (found == children_.end())
      throw Error(Status::not_found, "The script names a process that never was.");
    found->second.state = state;
  }
  void fail_if_told(ProcessStep step) {
    const auto found = failures_.find(step);
    if (found == failures_.end()) return;
    const Error error = found->second;
    failures_.erase(found);
    throw error;
  }

  mutable std::mutex mutex_;
  std::map<std::string, Child> children_;
  std::map<ProcessStep, Error> failures_;
  bool stubborn_ = false;
  ProcessAbilities able_{true, true, true, true, true, true};
  std::int64_t next_pid_ = 100'001;
};

}  // namespace rmgr::testing
