// YAML → validated, typed configuration. Every error at once, each with file, line and column.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "domain/policy.hpp"

namespace agent::config {

struct Problem {
  std::string file;
  int line = 0;    // from 1; 0: the file as a whole
  int column = 0;  // from 1
  std::string message;
  std::string text;  // the line itself, scrubbed; empty where a secret may stand or the syntax is broken
  int caret = 0;     // the column in `text`; 0: it is not there, or behind something that was redacted
};
// file:line:column: message, the line below it, and a caret below its place.
std::string to_string(const Problem& problem);

// Where a part of the file stands, from 1. Line 0: nowhere.
struct Place {
  int line = 0;
  int column = 0;
};

struct Instance {
  domain::InstanceName name;
  std::string plugin;
  std::string config_json;  // canonical JSON of the `config` subtree
  Place plugin_place;       // where the plugin is named
  // Where the values of `config` stand, and their keys, by JSON pointer; "" is the whole of it, or the
  // instance if it has none.
  std::map<std::string, Place> value_places, key_places;
  std::optional<std::string> sha256;
  bool required = false;
  bool enabled = true;
};

struct Polling {
  domain::Millis quiet{10'000};    // nothing runs; floor 5 s
  domain::Millis active{60'000};   // something runs; floor 30 s
  bool allow_below_floor = false;  // for servers that are not GitHub
};

struct Configuration {
  std::string state_directory;
  std::string control_socket;  // default: <state>/control.sock
  std::int64_t host_capacity = 1;
  std::int64_t target_cap = 0;
  domain::Millis drain_timeout{60'000};
  Polling polling;
  std::int64_t keep_attempts = 10'000;  // history that is kept at least
  domain::Millis keep_for{30LL * 24 * 3600 * 1000};
  domain::Millis package_check_interval{6 * 3600 * 1000};
  std::vector<std::pair<std::string, std::string>> package_pins;
  std::vector<std::string> plugin_directories;
  std::vector<Instance> providers, gateways, package_sources;
  std::vector<domain::Policy>
      policies;  // state as written; provider_kind is filled in by the daemon from the plugin
  std::string log_level = "info";
  std::string log_file;  // empty: standard error
};

struct Loaded {
  std::optional<Configuration> configuration;  // set exactly when there are no problems
  std::vector<Problem> problems;
  std::string text;  // as it was read
};

// What somebody else found wrong with a part of a file that was loaded, in the order of the file.
struct Finding {
  Place place;
  std::string message;
  bool hidden = false;  // the value may be a secret: none of its lines is shown
};
std::vector<Problem> problems_of(const Loaded& loaded, const std::string& name,
                                 const std::vector<Finding>& findings);

// Reads at most 1 MiB. Relative paths in the file are refused.
Loaded load_file(const std::string& path);
Loaded load_text(const std::string& text, const std::string& name);

// A key as the readers ask for it.
struct Key {
  std::string path;       // policies[].timeouts.idle
  std::string kind;       // text, path, number, boolean, duration, size, cores, word, list, map
  std::string otherwise;  // the default; empty: none
  std::string range;      // empty: none
  bool required = false;
};
// Every key of the file, but for what the plugins understand, in the order in which they are read.
std::vector<Key> all_keys();

}  // namespace agent::config
