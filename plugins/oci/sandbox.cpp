#include "oci/sandbox.hpp"

#include <charconv>

#include "rmgr/error.hpp"
#include "support/engine/sandboxes.hpp"

namespace oci {
namespace {

// Reads the secret, one line, from the standard input, says so, and becomes the listener. The secret is in
// the environment of the listener alone: never an argument, and exported by nothing else.
std::string bootstrap() {
  return "IFS= read -r ACTIONS_RUNNER_INPUT_JITCONFIG && [ -n \"$ACTIONS_RUNNER_INPUT_JITCONFIG\" ] || exit "
         "70\n"
         "echo " +
         std::string(plugins::engine::taken_word) +
         "\n"
         "export ACTIONS_RUNNER_INPUT_JITCONFIG\n"
         "exec \"$1\" run </dev/null >/dev/null 2>&1\n";
}

bool number(std::string_view text, std::uint32_t& out) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), out);
  return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

}  // namespace

plugins::engine::ContainerSpec sandbox_of(const ContainerSettings& settings,
                                          const rmgr::Allocation& allocation, const std::string& network) {
  plugins::engine::ContainerSpec spec;
  spec.image = allocation.image;
  spec.entrypoint = {"/bin/sh", "-c", bootstrap()};
  spec.command = {"runner-manager", settings.runner_path + "/bin/Runner.Listener"};
  spec.environment = settings.environment;
  spec.environment.emplace_back("RUNNER_ALLOW_RUNASROOT=1");
  spec.user = settings.user;
  spec.directory = settings.runner_path;
  spec.labels = plugins::engine::labels_of(allocation);
  spec.add_capabilities = base_capabilities();
  spec.add_capabilities.insert(spec.add_capabilities.end(), settings.add_capabilities.begin(),
                               settings.add_capabilities.end());
  spec.new_privileges = settings.privilege_escalation;
  spec.read_only = settings.read_only;
  spec.init = settings.init;
  spec.network = network;
  for (const std::string& path : settings.tmpfs)
    spec.tmpfs[path] = "rw,nosuid,nodev";
  if (settings.read_only) {
    spec.volumes = {settings.runner_path};
    spec.tmpfs.try_emplace("/tmp", "rw,nosuid,nodev,mode=1777");
  }
  spec.nano_cpus = allocation.profile.cpu_milli * 1'000'000;
  spec.memory_bytes = allocation.profile.memory_bytes;
  spec.pids = allocation.profile.pids > 0 ? allocation.profile.pids : settings.pids;
  spec.disk_bytes = allocation.profile.disk_bytes;
  return spec;
}

Account account_of(const ContainerSettings& settings, const plugins::engine::Image& image) {
  const std::string& user = settings.user.empty() ? image.user : settings.user;
  const std::size_t colon = user.find(':');
  const std::string name = user.substr(0, colon);
  const std::string group = colon == std::string::npos ? "" : user.substr(colon + 1);
  Account account;
  if (name.empty() || name == "root") return account;
  const bool known = number(name, account.uid) && (group.empty() || number(group, account.gid));
  if (!known) {
    throw rmgr::Error(
        rmgr::Status::invalid,
        "The image names its user and not the number, so the runner package cannot be given to it; set "
        "user to UID:GID.");
  }
  return account;
}

bool limits_disk(const plugins::engine::Info& info) {
  if (info.rootless) return false;
  if (info.driver == "btrfs" || info.driver == "zfs" || info.driver == "devicemapper") return true;
  // Without project quotas the engine itself refuses to create a container with a size.
  return (info.driver == "overlay" || info.driver == "overlay2") && info.backing == "xfs";
}

}  // namespace oci
