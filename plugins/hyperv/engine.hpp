// The Windows engine of an instance, and the way to it.
#pragma once

#include <memory>
#include <mutex>

#include "hyperv/machine.hpp"
#include "hyperv/settings.hpp"
#include "rmgr/host.hpp"
#include "support/engine/access.hpp"

namespace hyperv {

// Thread-safe.
class Engine {
 public:
  Engine(rmgr::Host host, const Settings& settings, Machine& machine)
      : host_(host), settings_(settings), machine_(machine) {}

  // Asks each time whether it runs Windows containers: a switched one shows none of them, and what it does
  // not show is not gone. Throws NoConnection, or unsupported for a machine or a mode without Windows
  // containers.
  plugins::engine::Connection connect(const rmgr::Call& call);

  // Whether the engine is this machine's own, whose features then count.
  [[nodiscard]] bool local() const;

 private:
  std::shared_ptr<plugins::engine::Client> client();

  rmgr::Host host_;
  const Settings& settings_;
  Machine& machine_;
  std::mutex mutex_;
  std::shared_ptr<plugins::engine::Client> client_;
};

}  // namespace hyperv
