#include "native/settings/containment.hpp"

#include <filesystem>

#include "native/settings/json.hpp"
#include "rmgr/error.hpp"

namespace native {
namespace {

void check_protected(const std::string& path) {
  const std::string plain = std::filesystem::path(path).lexically_normal().string();
  if (plain == path && !path.ends_with('/') && path != "/" && path != "/proc") return;
  throw rmgr::Error(
      rmgr::Status::invalid,
      "protected_paths: " + path +
          " cannot be protected; write a directory below / without . and .. and without a slash at "
          "the end, and not /proc.");
}

}  // namespace

void read(const nlohmann::json& json, ContainmentSettings& settings) {
  if (const auto own = json.find("private_tmp"); own != json.end()) settings.private_tmp = own->get<bool>();
  settings.protected_paths = get_or(json, "protected_paths", std::move(settings.protected_paths));
  settings.nice = get_or(json, "nice", settings.nice);
  settings.rlimits = get_or(json, "rlimits", std::move(settings.rlimits));
  settings.no_new_privileges = get_or(json, "no_new_privileges", settings.no_new_privileges);
  for (const std::string& path : settings.protected_paths)
    check_protected(path);
}

}  // namespace native
