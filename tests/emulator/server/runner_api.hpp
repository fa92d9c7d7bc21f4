// The listener's side: sessions, long polls for a job, renewal and completion. See README.md for the
// messages.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>

#include "server/exchange.hpp"
#include "server/faults.hpp"
#include "server/http_server.hpp"
#include "server/settings.hpp"
#include "server/world.hpp"

namespace emulator {

using Reply = std::function<void(Response)>;

class RunnerApi {
 public:
  RunnerApi(World& world, Faults& faults, Settings& settings, HttpServer& server);

  // `reply` is called once, at once or when a poll ends; `exchange` tells when the caller has gone.
  void handle(const Request& request, const Reply& reply, Exchange& exchange);
  // Hands queued jobs to waiting listeners. Call after every change that may allow it.
  void dispatch();
  // Ends every waiting poll without a message, so that listeners ask again and meet a new fault.
  void wake_all();
  // A queued job ends at once; a running one is told to its listener with its next renewal.
  void cancel(Job& job);
  // versions whose listeners are refused
  void deprecate(std::string version) { deprecated_.insert(std::move(version)); }

 private:
  struct Poll {
    std::int64_t registration_id;
    Reply reply;
    Millis deadline;
  };

  void open_session(const Request& request, const Reply& reply);
  void poll(const Request& request, Registration& registration, const Reply& reply, Exchange& exchange);
  void answer_job(Registration& registration, const Job& job, const Reply& reply);
  Response job_call(const Request& request, Registration& registration);
  void hand_out(Job& job, std::list<Poll>::iterator poll);
  void finish(Registration& registration);
  void end_poll(std::list<Poll>::iterator poll, Response response);
  void tick();

  World& world_;
  Faults& faults_;
  Settings& settings_;
  HttpServer& server_;
  std::list<Poll> polls_;  // oldest first
  std::set<std::string> deprecated_;
};

}  // namespace emulator
