// The gateway: what one GitHub knows of jobs and runners.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "github/session.hpp"
#include "github/sweep.hpp"
#include "rmgr/gateway.hpp"

namespace plugins::github {

// Thread-safe: calls of one instance may overlap.
class Gateway final : public rmgr::Gateway {
 public:
  static constexpr std::string_view config_schema = kSchema;
  static constexpr std::uint32_t flags = RMGR_COMPONENT_CONCURRENT;

  Gateway(rmgr::Host host, std::string_view config_json);

  rmgr::Demand demand(const rmgr::Call& call, std::string_view target) override;
  std::vector<rmgr::Runner> inventory(const rmgr::Call& call, std::string_view target) override;
  rmgr::Registration register_runner(const rmgr::Call& call,
                                     const rmgr::RegistrationRequest& request) override;
  void deregister(const rmgr::Call& call, std::string_view target, std::int64_t runner_id) override;

 private:
  // The repositories of an organization that the token sees.
  struct Repositories {
    std::vector<std::string> names;
    int looks_left = 0;  // until they are listed again
  };
  std::vector<std::string> repositories(Sweep& sweep, std::string_view organization, const std::string& path);
  void forget_repository(std::string_view organization, const std::string& repository);

  Session session_;
  std::mutex mutex_;
  std::map<std::string, Repositories, std::less<>> organizations_;
};

}  // namespace plugins::github
