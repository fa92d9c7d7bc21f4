// What an operator may configure for runners in containers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/engine/settings.hpp"

namespace oci {

enum class EngineChoice { automatic, podman, docker };

struct Settings : plugins::engine::EngineSettings {
  EngineChoice engine = EngineChoice::automatic;
  bool in_image = false;    // the runner package is in the image, and is not copied in
  std::string runner_path;  // where it is, in the container
  std::string network;      // none, own, or the name of one
  std::string user;         // UID or UID:GID; empty: the image's
  std::vector<std::string> add_capabilities;
  std::vector<std::string> tmpfs;
  bool privilege_escalation = false;
  bool read_only = false;
  bool init = true;
  std::int64_t pids = 0;  // for policies without a wish
};

extern const std::string_view settings_schema;

// Throws rmgr::Error for what the schema cannot say.
Settings parse_settings(std::string_view json);

// What a container may do after everything was taken from it: what package managers need, and no more.
const std::vector<std::string>& base_capabilities();

}  // namespace oci
