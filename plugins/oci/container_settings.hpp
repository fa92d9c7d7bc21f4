// What an operator may configure for the containers themselves: for all of an instance, and otherwise for
// each of its policies.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace oci {

struct ContainerSettings {
  bool in_image = false;  // the runner package is in the image, and is not copied in
  std::string runner_path = "/opt/actions-runner";  // where it is, in the container
  std::string network = "own";                      // none, own, or the name of one
  std::string user;                                 // UID or UID:GID; empty: the image's
  std::vector<std::string> environment;
  std::vector<std::string> add_capabilities;
  std::vector<std::string> tmpfs;
  bool privilege_escalation = false;
  bool read_only = false;
  bool init = true;
  std::int64_t pids = 4096;  // for policies without a wish
};

// Without a "default", which would be filled into every policy.
inline constexpr std::string_view container_properties = R"(
    "runner_path": {
      "type": "string",
      "description": "where the image holds the runner package; without it the package is copied into each container",
      "pattern": "^/",
      "maxLength": 1024
    },
    "network": {
      "type": "string",
      "description": "own, as without it: a network for each container; none; or the name of an existing one",
      "pattern": "^[A-Za-z0-9][A-Za-z0-9_.-]*$",
      "maxLength": 128
    },
    "user": {
      "type": "string",
      "description": "UID or UID:GID of the runner in the container; without it the image's user",
      "pattern": "^[0-9]+(:[0-9]+)?$",
      "maxLength": 21
    },
    "environment": {
      "type": "array",
      "description": "KEY=VALUE for the runner and its jobs; nothing secret",
      "items": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*=", "maxLength": 4096},
      "maxItems": 128
    },
    "add_capabilities": {
      "type": "array",
      "description": "capabilities beside the few that package managers need",
      "items": {"type": "string", "pattern": "^[A-Z][A-Z_]*$", "maxLength": 64},
      "maxItems": 64
    },
    "tmpfs": {
      "type": "array",
      "description": "paths in the container that are kept in memory",
      "items": {"type": "string", "pattern": "^/[^:,]*$", "maxLength": 1024},
      "maxItems": 16
    },
    "privilege_escalation": {
      "type": "boolean",
      "description": "let set-user-ID programs, as sudo, work in the container; false unless given"
    },
    "read_only": {
      "type": "boolean",
      "description": "nothing of the image can be changed; the runner's own directory and /tmp still can; false unless given"
    },
    "init": {
      "type": "boolean",
      "description": "start the engine's init process first, which reaps what jobs leave; true unless given"
    },
    "pids": {
      "type": "integer",
      "description": "the most processes and threads of a container whose policy does not say; 4096 unless given",
      "minimum": 64,
      "maximum": 1000000
    })";

// Leaves alone what the object does not name, so that it can be read over what holds otherwise.
void read(const nlohmann::json& json, ContainerSettings& settings);

// Throws rmgr::Error for what the schema cannot say.
void check(const ContainerSettings& settings);

// What a container may do after everything was taken from it: what package managers need, and no more.
const std::vector<std::string>& base_capabilities();

// What the operator loosened, in one sentence that names each; empty if nothing.
std::string loosened(const ContainerSettings& settings);

}  // namespace oci
