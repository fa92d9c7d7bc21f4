#include "plugin/version.hpp"

namespace agent::plugin {

std::string to_string(AbiVersion version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor);
}

std::optional<std::string> refuse_version(AbiVersion built, std::uint16_t needed, AbiVersion host) {
  // Nothing is promised between minors of the major 0.
  if (built.major != host.major || (host.major == 0 && built.minor != host.minor))
    return "It was built for plugin ABI " + to_string(built) + " and this host offers " + to_string(host) +
           "; install a build for this version.";
  if (needed > built.minor)
    return "It says that it needs plugin ABI " + to_string({built.major, needed}) + " but was built with " +
           to_string(built) + "; report it to its vendor.";
  if (needed > host.minor)
    return "It needs plugin ABI " + to_string({built.major, needed}) + " or newer and this host offers " +
           to_string(host) + "; update runner-manager, or install an older build of the plugin.";
  return std::nullopt;
}

}  // namespace agent::plugin
