// Takes a request through faults, credentials, the right API, conditional answers and the log.
#pragma once

#include <memory>

#include "server/app_auth.hpp"
#include "server/control_api.hpp"
#include "server/exchange.hpp"
#include "server/faults.hpp"
#include "server/http_server.hpp"
#include "server/packages.hpp"
#include "server/request_log.hpp"
#include "server/rest_api.hpp"
#include "server/runner_api.hpp"
#include "server/settings.hpp"
#include "server/world.hpp"

namespace emulator {

class App {
 public:
  App(HttpServer& server, Settings settings, Packages packages);
  void handle(Request request, const std::shared_ptr<Exchange>& exchange);
  [[nodiscard]] World& world() { return world_; }

 private:
  void execute(const Request& request, const std::shared_ptr<Exchange>& exchange, Millis view_age,
               const Reply& reply);
  Response rest(const Request& request, Millis view_age);
  Response download(const Request& request) const;
  void add_common_headers(Response& response, bool rest);

  HttpServer& server_;
  Settings settings_;
  Packages packages_;
  World world_;
  Faults faults_;
  RequestLog log_;
  AppAuth app_auth_;
  RestApi rest_api_;
  RunnerApi runner_api_;
  ControlApi control_api_;
  std::int64_t answers_ = 0;
};

}  // namespace emulator
