#include "hyperv/sandbox.hpp"

#include <filesystem>

#include "hyperv/library_path.hpp"
#include "rmgr/error.hpp"
#include "support/engine/identity.hpp"

namespace hyperv {
namespace {

constexpr const char* bootstrap_name = "rmgr-bootstrap.exe";
constexpr const char* bootstrap_directory = "runner-manager";
constexpr const char* purpose_key = "runner-manager.purpose";
constexpr const char* trial = "preflight";

std::string listener_in(const Settings& settings) {
  return settings.runner_path + R"(\bin\Runner.Listener.exe)";
}

plugins::engine::ContainerSpec base_of(const Settings& settings, const rmgr::Allocation& allocation) {
  if (allocation.profile.pids > 0)
    throw rmgr::Error(rmgr::Status::unsupported, std::string(no_process_limit));
  plugins::engine::ContainerSpec spec;
  spec.image = allocation.image;
  spec.platform = settings.images.platform;
  spec.isolation = "hyperv";
  spec.environment = settings.environment;
  spec.user = settings.user;
  spec.directory = settings.runner_path;
  spec.labels = plugins::engine::labels_of(allocation);
  spec.network = settings.network;
  spec.nano_cpus = allocation.profile.cpu_milli * 1'000'000;
  spec.memory_bytes = allocation.profile.memory_bytes;
  spec.disk_bytes = allocation.profile.disk_bytes;
  return spec;
}

}  // namespace

plugins::engine::ContainerSpec runner_of(const Settings& settings, const rmgr::Allocation& allocation) {
  auto spec = base_of(settings, allocation);
  spec.entrypoint = {std::string(R"(C:\)") + bootstrap_directory + '\\' + bootstrap_name};
  spec.command = {listener_in(settings), "run"};
  return spec;
}

plugins::engine::ContainerSpec trial_of(const Settings& settings, const rmgr::Allocation& allocation) {
  auto spec = base_of(settings, allocation);
  spec.entrypoint = {listener_in(settings)};
  spec.command = {"--version"};
  spec.labels[purpose_key] = trial;
  return spec;
}

bool is_trial(const plugins::engine::Labels& labels) {
  const auto purpose = labels.find(purpose_key);
  return purpose != labels.end() && purpose->second == trial;
}

std::string bootstrap_of(const Settings& settings) {
  std::string path = settings.bootstrap.empty() ? beside_library(bootstrap_name) : settings.bootstrap;
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(path, unreadable)) {
    throw rmgr::Error(rmgr::Status::invalid,
                      "The program that takes the one-time configuration in a container is not at " + path +
                          "; install it there or correct bootstrap.");
  }
  return path;
}

plugins::engine::TarOptions contents_of(const Settings& settings) {
  plugins::engine::TarOptions options;
  // The archive is unpacked at the root of the disk, of which the path names the letter.
  options.prefix = settings.runner_path.substr(3);
  options.more = {{bootstrap_directory, bootstrap_name, bootstrap_of(settings)}};
  return options;
}

}  // namespace hyperv
