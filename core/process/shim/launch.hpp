// What the host asks the shim to run, as views into the message that asked for it.
#pragma once

#include <cstddef>

#include "process/protocol.hpp"

namespace agent::process::shim {

struct Launch {
  wire::LaunchHeader header{};
  const char* record_root = nullptr;
  const char* key = nullptr;
  const char* cgroup = nullptr;
  const char* directory = nullptr;
  char* arguments[wire::max_arguments + 1] = {};
  char* environment[wire::max_environment + 2] = {};  // with room for the secret
  wire::ResourceLimit resource_limits[wire::max_resource_limits] = {};
  char* limited[wire::max_limited] = {};
  char* hidden[wire::max_directories] = {};
  struct Private {
    char* target;
    char* backing;  // empty: one in memory
  };
  Private privates[wire::max_directories] = {};
};

// Views into `payload`, which must outlive them. False for a malformed message.
bool parse_launch(char* payload, std::size_t size, Launch& out);

// Turns "NAME\0value" of `size` bytes, in a buffer with one byte more, into "NAME=value". False if malformed.
bool parse_release(char* payload, std::size_t size);

}  // namespace agent::process::shim
