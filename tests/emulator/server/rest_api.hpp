// GitHub's REST API as far as a manager of runners needs it. Every call is answered at once.
#pragma once

#include <optional>
#include <string>

#include "server/exchange.hpp"
#include "server/packages.hpp"
#include "server/settings.hpp"
#include "server/world.hpp"

namespace emulator {

class RestApi {
 public:
  RestApi(World& world, const Packages& packages, const Settings& settings)
      : world_(world), packages_(packages), settings_(settings) {}

  // Listings show the world as it was at `when`; changes happen at `now`.
  Response handle(const Request& request, Millis when, Millis now);

 private:
  Response owned(const Request& request, const std::string& scope, std::size_t base, Millis when, Millis now);
  Response runners(const Request& request, const std::string& scope, std::size_t base, Millis when,
                   Millis now);
  Response list_runs(const Request& request, const std::string& repository, Millis when, Millis now) const;
  Response list_jobs(const Request& request, const Run& run, Millis when) const;
  Response list_runners(const Request& request, const std::string& scope, Millis when) const;
  Response list_repositories(const Request& request, const std::optional<std::string>& owner,
                             bool wrapped) const;
  Response list_downloads() const;
  Response generate_jit(const Request& request, const std::string& scope, Millis now);
  Response remove_runner(Registration& registration, Millis now);
  [[nodiscard]] std::string jit_config(const Registration& registration) const;

  World& world_;
  const Packages& packages_;
  const Settings& settings_;
};

}  // namespace emulator
