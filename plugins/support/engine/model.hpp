// What an engine is asked for and tells, as far as this agent has to know.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace plugins::engine {

using Labels = std::map<std::string, std::string>;

struct Ping {
  std::string product;  // "podman" or "docker", as the engine names itself
  std::string api;      // the newest that it speaks; empty if it does not say
  std::string os;       // of the containers that it runs; empty if it does not say
};

struct Version {
  std::string api;  // the newest that it speaks
  std::string oldest_api;
  std::string os;  // of the containers that it runs
  std::string architecture;
};

struct Info {
  std::string driver;   // of its storage
  std::string backing;  // the filesystem below the driver, "" if it does not say
  std::string os;       // linux or windows
  std::string root;     // where it keeps its data
  bool rootless = false;
  bool memory_limit = false;
  bool cpu_limit = false;
  bool pids_limit = false;
};

enum class ContainerStatus { created, running, exited };

struct Container {
  std::string id;
  std::string name;   // without the slash that engines put before it
  std::string image;  // the image's id
  Labels labels;
  ContainerStatus status = ContainerStatus::exited;
  std::int64_t exit_code = 0;
  bool out_of_memory = false;
  std::string error;  // why it could not be started
};

struct Listed {
  std::string id;
  std::vector<std::string> names;
  Labels labels;
};

struct Image {
  std::string id;                    // sha256:…
  std::vector<std::string> digests;  // name@sha256:…
  std::string os;
  std::string architecture;
  std::string user;
};

// What a container may do. Everything that is not named is refused or left at the engine's default.
struct ContainerSpec {
  std::string image;
  std::string platform;   // as windows/amd64; empty: the engine's own
  std::string isolation;  // of Windows containers, which have none of what is Linux's below; empty: Linux
  std::vector<std::string> entrypoint;
  std::vector<std::string> command;
  std::vector<std::string> environment;
  std::string user;       // empty: the image's
  std::string directory;  // where its process starts
  Labels labels;
  // Linux alone.
  std::vector<std::string> volumes;  // paths of anonymous volumes
  std::map<std::string, std::string> tmpfs;
  std::vector<std::string> add_capabilities;  // after all were dropped
  bool new_privileges = false;
  bool read_only = false;
  bool init = true;
  // Both.
  std::string network;  // none, or the name of one
  // Linux has all of them, Windows all but the last.
  std::int64_t nano_cpus = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t disk_bytes = 0;
  std::int64_t pids = 0;
};

}  // namespace plugins::engine
