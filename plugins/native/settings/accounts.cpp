#include "native/settings/accounts.hpp"

#include "native/settings/json.hpp"

namespace native {

void read(const nlohmann::json& json, AccountSettings& settings) {
  settings.allow_shared_account = get_or(json, "allow_shared_account", false);
  const auto run_as = json.find("run_as");
  if (run_as == json.end()) return;
  settings.pool = get_or(*run_as, "pool", std::vector<std::string>());
  if (const auto range = run_as->find("uid_range"); range != run_as->end()) {
    settings.uid_range =
        UidRange{range->at("first").get<std::uint32_t>(), range->at("count").get<std::uint32_t>()};
  }
}

}  // namespace native
