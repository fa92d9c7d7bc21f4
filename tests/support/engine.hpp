// The container engine that tests/support/with-engine started for this process.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "support/agent.hpp"

namespace testkit {

struct TestEngine {
  std::string name;        // podman or docker
  std::string socket;      // path
  std::string image;       // with a shell
  std::string full_image;  // and with the emulated runner's package, where RMGR_TEST_ENGINE_PACKAGE named one
  std::string address;     // at which containers reach 127.0.0.1 of this process
  std::string state;       // the directory of all that is the engine's; `data` in it is a disk of its own
  std::string control;     // the program that starts, stops and kills the engine
};

// Nothing if this process was not started by with-engine.
std::optional<TestEngine> test_engine();

// Where the full image has the package.
inline constexpr const char* package_path = "/opt/actions-runner";

// YAML of a container provider that uses it; `more`, YAML as well, follows from a comma on.
std::string provider_config(const TestEngine& engine, const std::string& more = ", pull: never");

// Counts every container and volume, and the networks that an agent made.
void count_leftovers(const TestEngine& engine, Leftovers& left);

// One call of its API that must succeed; its answer, mostly JSON. Throws std::runtime_error.
std::string ask_engine(const TestEngine& engine, const std::string& method, const std::string& path,
                       const std::string& body = "");

// "start", "stop" or "kill", and options of the engine's own for a start. Throws unless it went well.
void control_engine(const TestEngine& engine, const std::vector<std::string>& words);
// The engine's process now; -1 while there is none.
pid_t engine_pid(const TestEngine& engine);

// One file of a container; empty where it is not there.
std::string file_in(const TestEngine& engine, const std::string& container, const std::string& path);
// Makes a file in the root directory of a container, which may run. Throws unless it went well.
void make_file_in(const TestEngine& engine, const std::string& container, const std::string& name);

}  // namespace testkit
