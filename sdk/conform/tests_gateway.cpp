// lifecycle, idempotence and recovery of gateways.
#include <fstream>

#include "conform/attempt.hpp"
#include "conform/clients.hpp"
#include "conform/leaks.hpp"

namespace rmgr::conform {
namespace {

std::string fresh_name() { return "conform-" + random_hex(16); }

std::string demand(Context& context) {
  GatewayClient gateway(context);
  int jobs = 0;
  const Answer answer = gateway.demand(jobs);
  expect(answer.ok(),
         answer.text() + "; name a target of yours in the configuration as \"conform\": {\"target\": …}.");
  const std::string odd = witness().first(Breach::unknown_status);
  expect(odd.empty(), odd + ".");
  return "demand answered " + std::to_string(jobs) + " jobs.";
}

std::string registers(Context& context) {
  GatewayClient gateway(context);
  const std::string name = fresh_name();
  const std::int64_t id = gateway.registered(name);
  const std::string secret = gateway.secret();
  expect(gateway.lists(id, name), "inventory does not list a runner that was registered.");
  std::int64_t other = 0;
  const Answer again = gateway.register_runner(name, other);
  const Answer gone = gateway.deregister(id);
  expect(again.status == RMGR_E_EXISTS, "For a name that is taken " + again.text() + " instead of exists.");
  expect(gone.ok(), gone.text() + ".");
  expect(!gateway.lists(id, name), "inventory lists a runner that was deregistered.");
  expect_no_leak(context, secret);
  return "A runner was registered, listed and deregistered.";
}

std::string unknown(Context& context) {
  GatewayClient gateway(context);
  const std::string name = fresh_name();
  const std::int64_t id = gateway.registered(name);
  for (int i = 0; i < context.plan.repeat; ++i) {
    const Answer answer = gateway.deregister(id);
    expect(answer.ok(), (i == 0 ? "" : "Again, ") + answer.text() + ".");
  }
  const Answer answer = gateway.deregister(id + 1'000'000);
  expect(answer.ok(), "For a runner that never was " + answer.text() + ".");
  return "Deregistering succeeded " + std::to_string(context.plan.repeat) + " times.";
}

std::string survives(Context& context) {
  GatewayClient gateway(context);
  const std::string record = context.scratch + "/registration";
  if (context.phase == 0) {
    const std::string name = fresh_name();
    const std::int64_t id = gateway.registered(name);
    std::ofstream(record) << id << ' ' << name;
    die();
  }
  std::int64_t id = 0;
  std::string name;
  std::ifstream(record) >> id >> name;
  const bool listed = gateway.lists(id, name);
  const Answer gone = gateway.deregister(id);
  expect(listed, "A fresh process does not list what was registered before a crash.");
  expect(gone.ok(), gone.text() + ".");
  expect(!gateway.lists(id, name), "inventory lists a runner that was deregistered.");
  return "A registration was found and removed by a fresh process.";
}

}  // namespace

Tests gateway_tests() {
  const std::vector<std::string_view> made{"config.accepted"};
  const std::vector<std::string_view> run{"config.accepted", "lifecycle.registers"};
  return {
      {"lifecycle.demand", "demand answers the jobs of a target.", for_gateway, &demand, made},
      {"lifecycle.registers", "A runner is registered once, listed, and deregistered.", for_gateway,
       &registers, made},
      {"idempotence.deregister", "Deregistering what is gone or never was succeeds.", for_gateway, &unknown,
       run},
      {"recovery.registered", "What was registered before a crash is listed after it.", for_gateway,
       &survives, run, 2},
  };
}

}  // namespace rmgr::conform
