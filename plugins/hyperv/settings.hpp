// What an operator may configure for runners in Windows containers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/engine/settings.hpp"

namespace hyperv {

struct Settings : plugins::engine::EngineSettings {
  bool in_image = false;    // the runner package is in the image, and is not copied in
  std::string runner_path;  // where it is, in the container
  std::string network;      // nat, none, or the name of another one
  std::string user;         // empty: the image's
  std::vector<std::string> environment;
  std::string bootstrap;  // path of rmgr-bootstrap.exe here; empty: beside the plugin
};

extern const std::string_view settings_schema;

// Throws rmgr::Error for what the schema cannot say.
Settings parse_settings(std::string_view json);

}  // namespace hyperv
