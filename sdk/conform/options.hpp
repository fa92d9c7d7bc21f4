// The command line of rmgr-conform, and its configuration file.
#pragma once

#include <string>
#include <vector>

#include "conform/suite.hpp"

namespace rmgr::conform {

enum class Form { text, json, junit };

struct Options {
  std::string problem;  // why the command line is wrong; empty if it is not
  bool help = false;
  bool list = false;
  Form form = Form::text;
  Plan plan;
  Choice choice;
};

[[nodiscard]] Options read_options(const std::vector<std::string>& words);
[[nodiscard]] std::string usage();

// Puts the configuration into the plan; answers what is wrong with it.
[[nodiscard]] std::string read_config(const std::string& text, Plan& plan);

}  // namespace rmgr::conform
