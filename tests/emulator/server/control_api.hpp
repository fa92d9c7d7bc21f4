// How a test drives the emulator; README.md lists the calls. No credential: it is on loopback only.
#pragma once

#include "server/app_auth.hpp"
#include "server/exchange.hpp"
#include "server/faults.hpp"
#include "server/http_server.hpp"
#include "server/packages.hpp"
#include "server/request_log.hpp"
#include "server/runner_api.hpp"
#include "server/settings.hpp"
#include "server/world.hpp"

namespace emulator {

class ControlApi {
 public:
  struct Parts {
    World& world;
    Faults& faults;
    Packages& packages;
    RequestLog& log;
    Settings& settings;
    RunnerApi& runners;
    HttpServer& server;
    AppAuth& app;
  };
  explicit ControlApi(const Parts& parts) : parts_(parts) {}

  Response handle(const Request& request);

 private:
  Response get(const Request& request);
  Response post(const Request& request);
  Response summary() const;
  Response jobs(const Request& request) const;
  Response registrations() const;
  Response requests(const Request& request) const;

  Parts parts_;
};

}  // namespace emulator
