// What a service manager is told, by the datagrams of sd_notify(3): that the agent is ready, that it ends,
// and that its loop still turns. Without NOTIFY_SOCKET nothing is sent.
#pragma once

#include <string>
#include <string_view>

#include "domain/time.hpp"

namespace agent::daemon {

class ServiceManager {
 public:
  // Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and takes them out of the environment: no program
  // that this one starts may speak in its name. Call it before there are threads.
  static ServiceManager from_environment();
  // `socket`: a path, or a name that begins with @ (abstract); empty: nobody listens.
  ServiceManager(std::string socket, domain::Millis alive_every)
      : socket_(std::move(socket)), alive_every_(alive_every) {}

  // Never blocks and never fails: a service manager that does not read misses a line.
  void ready() const { send("READY=1"); }
  void stopping() const { send("STOPPING=1"); }
  void alive() const { send("WATCHDOG=1"); }

  // How often alive() is to be called: a third of the patience that the service manager has. Zero: never.
  [[nodiscard]] domain::Millis alive_every() const { return alive_every_; }

 private:
  void send(std::string_view line) const;

  std::string socket_;
  domain::Millis alive_every_{0};
};

}  // namespace agent::daemon
