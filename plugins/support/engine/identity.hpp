// How a container says whose it is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rmgr/execution_provider.hpp"
#include "support/engine/model.hpp"

namespace plugins::engine {

// rm-<attempt>-<first eight digits of the generation>; of the container and of its network.
std::string name_of(const rmgr::Allocation& allocation);

Labels labels_of(const rmgr::Allocation& allocation);
// Those that say which attempt it is, without image and policy.
Labels attempt_labels(const rmgr::Allocation& allocation);
Labels host_label(std::string_view host);

// Does it carry exactly the allocation's identity?
bool bears(const Labels& labels, const rmgr::Allocation& allocation);

// What an environment's id names: a container, or a network that was left without one.
struct Environment {
  std::string engine;  // podman, docker or hyperv
  std::string id;
  bool network = false;
};
std::string text_of(const Environment& environment);
std::optional<Environment> parse_environment(std::string_view text);

// As the labels say it.
rmgr::Owned owned(const Labels& labels, const Environment& environment);

}  // namespace plugins::engine
