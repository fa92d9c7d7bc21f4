// Feeds arbitrary bytes to the reader of configurations. It must end, keep within its bounds, name places
// that exist, answer either a configuration or problems, and print nothing that stands under a telling key.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "config/config.hpp"

namespace {

void expect(bool holds) {
  if (!holds) std::abort();
}

// Stands for a secret.
const std::string kSecret = "hunter2";

void expect_hidden(const std::string& text) {
  for (const agent::config::Problem& problem : agent::config::load_text(text, "f").problems)
    expect(agent::config::to_string(problem).find(kSecret) == std::string::npos);
}

// The input between two secrets, as an item of a list and as lines of a text under a telling key. All of it
// is indented, so that it cannot leave the value.
void expect_values_hidden(const std::string& text) {
  std::string inside;
  for (const char c : text) {
    inside += c;
    if (c == '\n' || c == '\r') inside += "        ";
  }
  const std::string head = "state: relative\nx:\n  token:";
  expect_hidden(head + "\n    - " + kSecret + "\n    - " + inside + " " + kSecret + "\n");
  expect_hidden(head + " |\n    " + kSecret + "\n    " + inside + " " + kSecret + "\n");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const agent::config::Loaded loaded = agent::config::load_text(text, "fuzz.yaml");
  expect(loaded.configuration.has_value() == loaded.problems.empty());
  expect(loaded.problems.size() <= 101);
  for (const agent::config::Problem& problem : loaded.problems) {
    const std::string shown = agent::config::to_string(problem);
    expect(!problem.message.empty() && problem.line >= 0 && problem.column >= 0 && problem.caret >= 0);
    expect(problem.text.size() <= 160 && shown.size() < 4096);
  }
  expect_values_hidden(text);
  if (!loaded.configuration) return 0;
  // What was accepted once is accepted again, as the same.
  const auto again = agent::config::load_text(text, "again.yaml");
  expect(again.configuration &&
         again.configuration->policies.size() == loaded.configuration->policies.size());
  for (const auto* instances : {&loaded.configuration->gateways, &loaded.configuration->providers,
                                &loaded.configuration->package_sources}) {
    for (const agent::config::Instance& instance : *instances)
      expect(!instance.config_json.empty() && instance.value_places.contains(""));
  }
  return 0;
}
