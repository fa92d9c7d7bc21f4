#include "hyperv/machine.hpp"

namespace hyperv {

std::optional<std::string> missing_feature(const Features& features) {
  if (!features.windows) {
    return "Hyper-V isolation needs Windows; run this agent there, or name a Windows engine by "
           "host: tcp://name:port.";
  }
  if (features.hyper_v == Presence::absent) {
    return "The Windows feature Hyper-V is not enabled; enable it (Enable-WindowsOptionalFeature -Online "
           "-FeatureName Microsoft-Hyper-V -All) and restart the machine.";
  }
  if (features.containers == Presence::absent) {
    return "The Windows feature Containers is not enabled; enable it (Enable-WindowsOptionalFeature -Online "
           "-FeatureName Containers -All) and restart the machine.";
  }
  return std::nullopt;
}

Features Machine::features() {
  const std::lock_guard lock(mutex_);
  if (known_) return *known_;
  const Features now = look_();
  if (!missing_feature(now)) known_ = now;
  return now;
}

}  // namespace hyperv
