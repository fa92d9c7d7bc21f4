// What the daemon offers to plugins: durable keys over the journal, held processes over the shim.
#pragma once

#include <atomic>
#include <functional>

#include "journal/journal.hpp"
#include "plugin/host.hpp"
#include "process/process.hpp"

namespace agent::daemon {

// The journal belongs to the loop thread, so each call is carried there and waited for; on the loop thread
// itself it runs at once. A loop that does not answer in time refuses the call, and so does close().
class KvBridge final : public plugin::KvPort {
 public:
  using Post = std::function<void(std::function<void()>)>;
  KvBridge(journal::Journal& journal, Post post, std::function<bool()> on_loop_thread);
  void close() { closed_ = true; }

  domain::Result<std::optional<std::string>> get(const domain::InstanceName& instance,
                                                 std::string_view key) override;
  domain::Result<void> put(const domain::InstanceName& instance, std::string_view key,
                           std::string_view value) override;
  domain::Result<void> remove(const domain::InstanceName& instance, std::string_view key) override;
  domain::Result<std::vector<std::string>> list(const domain::InstanceName& instance,
                                                std::string_view prefix) override;

 private:
  template <class T>
  domain::Result<T> carry(std::function<domain::Result<T>()> work);

  journal::Journal& journal_;
  Post post_;
  std::function<bool()> on_loop_thread_;
  std::atomic<bool> closed_{false};
};

class ProcessBridge final : public plugin::ProcessPort {
 public:
  explicit ProcessBridge(process::ProcessHost& host) : host_(host) {}

  domain::Result<domain::ProcessIdentity> spawn_held(plugin::Call& call,
                                                     const plugin::ProcessRequest& request) override;
  domain::Result<void> release(plugin::Call& call, std::string_view key,
                               const domain::ProcessIdentity& identity, std::string_view secret_name,
                               std::string_view secret) override;
  domain::Result<plugin::EnvironmentState> inspect(plugin::Call& call, std::string_view key,
                                                   const domain::ProcessIdentity& identity,
                                                   int& signal) override;
  domain::Result<void> stop(plugin::Call& call, std::string_view key, const domain::ProcessIdentity& identity,
                            domain::Millis grace) override;
  domain::Result<void> forget(std::string_view key) override;
  [[nodiscard]] plugin::ProcessAbilities abilities() const override;

 private:
  process::ProcessHost& host_;
};

}  // namespace agent::daemon
