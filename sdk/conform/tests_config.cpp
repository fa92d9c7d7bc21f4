// config: the schema of each component, and what create makes of a configuration.
#include <random>

#include "conform/plugin.hpp"
#include "conform/schema.hpp"

namespace rmgr::conform {
namespace {

// The component after init, with a host.
struct Ready {
  explicit Ready(const Context& context) : host(context), entry(load(context)) {
    expect(init(entry, host).ok(), "It refused to start.");
    part = &component(context, entry);
  }
  Answer create_with(std::string_view config) {
    rmgr_instance* made = nullptr;
    Answer answer = create(*part, host, config, made);
    if (answer.ok()) expect(made != nullptr, "create answered ok without an instance.");
    return answer;
  }
  Host host;
  const rmgr_plugin_entry_t& entry;
  const rmgr_component* part = nullptr;
};

Json schema_of(const Ready& ready) {
  const auto schema = Json::parse(from_abi(ready.part->config_schema()));
  if (!schema) fail("Its configuration schema is no JSON of sane depth.");
  return *schema;
}

std::string schema(Context& context) {
  const Ready ready(context);
  const Json found = schema_of(ready);
  const std::string problem = schema_problem(found);
  expect(problem.empty(), "Its configuration schema is outside the subset: " + printable(problem) + ".");
  expect(found.at("type").as_text() == "object", "Its configuration schema is not that of an object.");
  expect(from_abi(ready.part->config_schema()) == from_abi(ready.part->config_schema()),
         "Its configuration schema is another at each call.");
  return "Its configuration schema is in the subset.";
}

std::string accepted(Context& context) {
  Ready ready(context);
  const Answer answer = ready.create_with(fitting_config(context, *ready.part));
  expect(answer.ok(),
         "The configuration given is refused: " + answer.text() + "; give another with --config.");
  return "The configuration given makes an instance.";
}

std::string destroy(Context& context) {
  const Ready ready(context);
  const std::string config = fitting_config(context, *ready.part);
  for (int i = 0; i < context.plan.repeat; ++i) {
    rmgr_instance* made = nullptr;
    const Answer answer = create(*ready.part, ready.host, config, made);
    expect(answer.ok(), answer.text() + ".");
    ready.part->destroy(made);
  }
  ready.entry.deinit();
  return "Instances were made and ended " + std::to_string(context.plan.repeat) + " times.";
}

std::string required(Context& context) {
  Ready ready(context);
  const Json& names = schema_of(ready).at("required");
  if (names.items().empty()) skip("Its schema requires no key.");
  const auto whole = Json::parse(fitting_config(context, *ready.part));
  const std::vector<Json> keys = names.items();
  for (const Json& name : keys) {
    Json config = *whole;
    config.erase(name.as_text());
    const Answer answer = ready.create_with(config.dump());
    expect(answer.status == RMGR_E_INVALID, "Without the required key " + printable(name.as_text(), 100) +
                                                " " + answer.text() + " instead of invalid.");
  }
  return "Each of its " + std::to_string(keys.size()) + " required keys is missed.";
}

std::string unknown_key(Context& context) {
  Ready ready(context);
  auto config = Json::parse(fitting_config(context, *ready.part));
  config->set("rmgr-conform-no-such-key", Json::integer(1));
  Json checked = *config;
  if (!config_problems(schema_of(ready), checked).empty())
    return "Its schema refuses keys that it does not know.";
  const Answer answer = ready.create_with(config->dump());
  expect(!answer.ok(),
         "A misspelt key is accepted by the schema and by create; leave out additionalProperties.");
  expect(answer.status == RMGR_E_INVALID, "With an unknown key " + answer.text() + " instead of invalid.");
  return "It refuses keys that it does not know.";
}

std::string damaged(std::string text, std::mt19937_64& random) {
  const int changes = 1 + static_cast<int>(random() % 4);
  for (int i = 0; i < changes; ++i) {
    const std::size_t at = text.empty() ? 0 : random() % text.size();
    switch (random() % 4) {
      case 0: text.resize(at); break;
      case 1: text.insert(at, 1, "{}[]\":,\\\x01\xff"[random() % 10]); break;
      case 2:
        if (!text.empty()) text.erase(at, 1 + random() % 4);
        break;
      default:
        if (!text.empty()) text[at] = static_cast<char>(random() % 256);
    }
  }
  return text;
}

std::string damage(Context& context) {
  Ready ready(context);
  const std::string config = fitting_config(context, *ready.part);
  std::mt19937_64 random(context.plan.seed);
  const int rounds = context.plan.repeat * 10;
  for (int i = 0; i < rounds; ++i) {
    const std::string text = damaged(config, random);
    const Answer answer = ready.create_with(text);
    const std::string threw = witness().first(Breach::threw);
    expect(threw.empty(), "An exception left create for the configuration " + printable(text, 200) + ".");
    expect(answer.status >= RMGR_OK && answer.status <= RMGR_STATUS_LAST, answer.text() + ".");
  }
  return "It survived " + std::to_string(rounds) + " damaged configurations of seed " +
         std::to_string(context.plan.seed) + ".";
}

}  // namespace

Tests config_tests() {
  const std::vector<std::string_view> first{"load.init", "load.interfaces"};
  const std::vector<std::string_view> then{"load.init", "load.interfaces", "config.schema",
                                           "config.accepted"};
  return {
      {"config.schema", "The configuration schema is in the documented subset.", for_each, &schema, first},
      {"config.accepted",
       "The configuration given makes an instance.",
       for_each,
       &accepted,
       {"load.init", "load.interfaces", "config.schema"}},
      {"config.destroy", "Instances can be made and ended several times.", for_each, &destroy, then},
      {"config.required", "create itself misses each key that the schema requires.", for_each, &required,
       then},
      {"config.unknown_key", "A key that is not known is refused.", for_each, &unknown_key, then},
      {"config.damaged", "Damaged configurations are answered, whatever the answer.", for_each, &damage,
       then},
  };
}

}  // namespace rmgr::conform
