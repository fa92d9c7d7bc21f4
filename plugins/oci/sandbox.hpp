// What a runner's container is made of.
#pragma once

#include <cstdint>
#include <string>

#include "oci/container_settings.hpp"
#include "rmgr/execution_provider.hpp"
#include "support/engine/model.hpp"

namespace oci {

// `network`: what the container joins.
plugins::engine::ContainerSpec sandbox_of(const ContainerSettings& settings,
                                          const rmgr::Allocation& allocation, const std::string& network);

// Who the runner is in the container, so that the package that is copied in can belong to it.
struct Account {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
};
// Throws invalid where only the image's own passwd file would know.
Account account_of(const ContainerSettings& settings, const plugins::engine::Image& image);

// Whether that storage counts what a container writes, and stops it.
bool limits_disk(const plugins::engine::Info& info);

}  // namespace oci
