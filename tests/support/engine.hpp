// The container engine that tests/support/with-engine started for this process.
#pragma once

#include <optional>
#include <string>

#include "support/agent.hpp"

namespace testkit {

struct TestEngine {
  std::string name;     // podman or docker
  std::string socket;   // path
  std::string image;    // with a shell
  std::string address;  // at which containers reach 127.0.0.1 of this process
  pid_t pid = -1;
};

// Nothing if this process was not started by with-engine.
std::optional<TestEngine> test_engine();

// YAML of a container provider that uses it.
std::string provider_config(const TestEngine& engine);

// Counts every container and volume, and the networks that an agent made.
void count_leftovers(const TestEngine& engine, Leftovers& left);

// One call of its API that must succeed; its JSON.
std::string ask_engine(const TestEngine& engine, const std::string& method, const std::string& path,
                       const std::string& body = "");

}  // namespace testkit
