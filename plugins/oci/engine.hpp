// Which engine an instance uses, and the way to it.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "oci/settings.hpp"
#include "rmgr/host.hpp"
#include "support/engine/access.hpp"

namespace oci {

using plugins::engine::Connection;

// Thread-safe.
class Engine {
 public:
  Engine(rmgr::Host host, const Settings& settings) : host_(host), settings_(settings) {}

  // What `auto` finds first it keeps, also over a restart: what an attempt has lies in one engine. Throws
  // NoConnection, or unsupported if another product answers than the one that is configured.
  Connection connect(const rmgr::Call& call);

 private:
  struct Candidate {
    std::string product;  // empty: any
    plugins::engine::Address address;
  };
  [[nodiscard]] std::vector<Candidate> candidates() const;
  Connection choose(const rmgr::Call& call);

  rmgr::Host host_;
  const Settings& settings_;
  std::mutex mutex_;
  std::optional<Candidate> chosen_;
  std::shared_ptr<plugins::engine::Client> client_;
};

}  // namespace oci
