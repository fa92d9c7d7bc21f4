// The table of tests, and how a test says what it found.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "conform/json.hpp"

namespace rmgr::conform {

enum class Status { success, failed, crashed, skipped, warning };
[[nodiscard]] std::string_view to_string(Status status);

struct Outcome {
  Status status = Status::success;
  std::string reason;  // one sentence
};

// How a test ends early. Thrown inside the suite only.
struct Stop {
  Outcome outcome;
};
[[noreturn]] void fail(const std::string& reason);
[[noreturn]] void skip(const std::string& reason);
[[noreturn]] void warn(const std::string& reason);
inline void expect(bool holds, const std::string& otherwise) {
  if (!holds) fail(otherwise);
}

// What a run is about; handed to the child of each test as JSON.
struct Plan {
  std::string plugin;   // absolute path of the library
  std::string program;  // absolute path of the program that runs the tests
  Json settings = Json::object();
  Json config = Json::object();   // of every interface
  Json configs = Json::object();  // of an interface by its short name; wins over `config`
  int repeat = 10;
  std::uint64_t seed = 1;
  int seconds = 30;  // that one test may take

  [[nodiscard]] Json to_json() const;
  static Plan from_json(const Json& json);
};

// What one test gets. `scratch` is a directory of its own, the same for every phase.
struct Context {
  const Plan& plan;
  std::string interface;  // short name; empty for tests of the library as a whole
  std::string scratch;
  int phase = 0;

  [[nodiscard]] const Json& config() const;
  [[nodiscard]] std::string setting(std::string_view key, std::string_view otherwise = "") const;
};

inline constexpr unsigned for_library = 0;
inline constexpr unsigned for_provider = 1;
inline constexpr unsigned for_source = 2;
inline constexpr unsigned for_gateway = 4;
inline constexpr unsigned for_each = for_provider | for_source | for_gateway;

struct Test {
  std::string_view id;           // group.name
  std::string_view description;  // one sentence
  unsigned interfaces;           // for_*
  // Answers one sentence about what was seen. In every phase but the last it does not return: it ends in
  // die().
  std::string (*run)(Context&);
  std::vector<std::string_view> needs;  // ids of tests without which this one would only repeat their failure
  int phases = 1;
  bool silent = false;         // what it prints is a failure
  bool ends_normally = false;  // the child leaves through exit, so that static destructors run
};

// Ends the child at once, as a crash of the daemon would; the next phase runs in a fresh one.
[[noreturn]] void die();

// In the order in which they run.
[[nodiscard]] const std::vector<Test>& all_tests();
[[nodiscard]] std::string short_name(std::string_view interface);     // rmgr.gateway/1 -> gateway
[[nodiscard]] std::string interface_of(std::string_view short_name);  // and back
[[nodiscard]] unsigned bit_of(std::string_view short_name);           // 0 if it is none of ours

// The tests of one file each.
using Tests = std::vector<Test>;
[[nodiscard]] Tests static_tests();
[[nodiscard]] Tests load_tests();
[[nodiscard]] Tests config_tests();
[[nodiscard]] Tests provider_tests();
[[nodiscard]] Tests recovery_tests();
[[nodiscard]] Tests gateway_tests();
[[nodiscard]] Tests source_tests();
[[nodiscard]] Tests cancel_tests();
[[nodiscard]] Tests error_tests();
[[nodiscard]] Tests thread_tests();
[[nodiscard]] Tests hygiene_tests();
[[nodiscard]] Tests compat_tests();

}  // namespace rmgr::conform
