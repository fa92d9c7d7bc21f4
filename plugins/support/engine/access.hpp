// How an instance reaches its engine.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "rmgr/host.hpp"
#include "support/engine/client.hpp"

namespace plugins::engine {

struct TlsFiles {
  std::string ca;           // path
  std::string certificate;  // path; empty: none
  std::string key;          // secret reference
};

struct Connection {
  std::shared_ptr<Client> client;
  std::string product;  // the first word of the ids of its environments: podman, docker or hyperv
};

// Reads the files and the key of `tls` anew. Throws rmgr::Error: invalid where they cannot be read.
std::shared_ptr<Client> client_at(rmgr::Host host, const Address& address,
                                  const std::optional<TlsFiles>& tls);

}  // namespace plugins::engine
