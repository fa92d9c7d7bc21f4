// What an operator may configure for runners in containers.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "oci/container_settings.hpp"
#include "support/engine/settings.hpp"

namespace oci {

enum class EngineChoice { automatic, podman, docker };

struct Settings : plugins::engine::EngineSettings {
  EngineChoice engine = EngineChoice::automatic;
  ContainerSettings common;
  std::map<std::string, ContainerSettings, std::less<>> policies;  // complete: `common` with their own on top

  [[nodiscard]] const ContainerSettings& of(std::string_view policy) const {
    const auto found = policies.find(policy);
    return found == policies.end() ? common : found->second;
  }
};

extern const std::string_view settings_schema;

// Throws rmgr::Error for what the schema cannot say.
Settings parse_settings(std::string_view json);

}  // namespace oci
