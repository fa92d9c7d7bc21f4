#include "conform/test.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "rmgr/abi/execution_provider.h"
#include "rmgr/abi/gateway.h"
#include "rmgr/abi/package_source.h"

namespace rmgr::conform {
namespace {

struct Known {
  std::string_view name;
  std::string_view id;
  unsigned bit;
};
constexpr std::array known{
    Known{"execution-provider", RMGR_INTERFACE_EXECUTION_PROVIDER, for_provider},
    Known{"package-source", RMGR_INTERFACE_PACKAGE_SOURCE, for_source},
    Known{"gateway", RMGR_INTERFACE_GATEWAY, for_gateway},
};

}  // namespace

std::string_view to_string(Status status) {
  switch (status) {
    case Status::success: return "success";
    case Status::failed: return "failed";
    case Status::crashed: return "crashed";
    case Status::skipped: return "skipped";
    case Status::warning: return "warning";
  }
  return "failed";
}

void fail(const std::string& reason) { throw Stop{{Status::failed, reason}}; }
void skip(const std::string& reason) { throw Stop{{Status::skipped, reason}}; }
void warn(const std::string& reason) { throw Stop{{Status::warning, reason}}; }

Json Plan::to_json() const {
  Json json = Json::object();
  json.set("plugin", Json::text(plugin));
  json.set("program", Json::text(program));
  json.set("settings", settings);
  json.set("config", config);
  json.set("configs", configs);
  json.set("repeat", Json::integer(repeat));
  json.set("seed", Json::text(std::to_string(seed)));
  json.set("seconds", Json::integer(seconds));
  return json;
}

Plan Plan::from_json(const Json& json) {
  Plan plan;
  plan.plugin = json.at("plugin").as_text();
  plan.program = json.at("program").as_text();
  plan.settings = json.at("settings");
  plan.config = json.at("config");
  plan.configs = json.at("configs");
  plan.repeat = static_cast<int>(json.at("repeat").as_integer());
  plan.seed = std::stoull(json.at("seed").as_text());
  plan.seconds = static_cast<int>(json.at("seconds").as_integer());
  return plan;
}

const Json& Context::config() const {
  const Json* const own = plan.configs.find(interface);
  return own == nullptr ? plan.config : *own;
}

std::string Context::setting(std::string_view key, std::string_view otherwise) const {
  const Json* const found = plan.settings.find(key);
  return found == nullptr ? std::string(otherwise) : found->as_text();
}

std::string short_name(std::string_view interface) {
  const auto found =
      std::find_if(known.begin(), known.end(), [&](const Known& one) { return one.id == interface; });
  return found == known.end() ? std::string() : std::string(found->name);
}

std::string interface_of(std::string_view name) {
  const auto found =
      std::find_if(known.begin(), known.end(), [&](const Known& one) { return one.name == name; });
  return found == known.end() ? std::string() : std::string(found->id);
}

unsigned bit_of(std::string_view name) {
  const auto found =
      std::find_if(known.begin(), known.end(), [&](const Known& one) { return one.name == name; });
  return found == known.end() ? 0 : found->bit;
}

const std::vector<Test>& all_tests() {
  static const std::vector<Test> tests = [] {
    std::vector<Test> all;
    auto parts = std::array{static_tests(), load_tests(),    config_tests(),   provider_tests(),
                            source_tests(), gateway_tests(), recovery_tests(), cancel_tests(),
                            error_tests(),  thread_tests(),  hygiene_tests(),  compat_tests()};
    for (Tests& some : parts)
      std::move(some.begin(), some.end(), std::back_inserter(all));
    return all;
  }();
  return tests;
}

}  // namespace rmgr::conform
