// The container engine that tests/support/with-engine started for this process.
#pragma once

#include <optional>
#include <string>

#include "support/agent.hpp"

namespace testkit {

struct TestEngine {
  std::string name;        // podman or docker
  std::string socket;      // path
  std::string image;       // with a shell
  std::string full_image;  // and with the emulated runner's package, where RMGR_TEST_ENGINE_PACKAGE named one
  std::string address;     // at which containers reach 127.0.0.1 of this process
  pid_t pid = -1;
};

// Nothing if this process was not started by with-engine.
std::optional<TestEngine> test_engine();

// Where the full image has the package.
inline constexpr const char* package_path = "/opt/actions-runner";

// YAML of a container provider that uses it. `package_inside`: with the full image.
std::string provider_config(const TestEngine& engine, bool package_inside = false);

// Counts every container and volume, and the networks that an agent made.
void count_leftovers(const TestEngine& engine, Leftovers& left);

// One call of its API that must succeed; its JSON.
std::string ask_engine(const TestEngine& engine, const std::string& method, const std::string& path,
                       const std::string& body = "");

}  // namespace testkit
