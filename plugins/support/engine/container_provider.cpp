#include "support/engine/container_provider.hpp"

namespace plugins::engine {

std::vector<rmgr::Owned> ContainerProvider::recover(const rmgr::Call& call,
                                                    const rmgr::Allocation& allocation) {
  return sandboxes(call).recover(call, allocation);
}

std::vector<rmgr::Owned> ContainerProvider::enumerate_owned(const rmgr::Call& call, std::string_view host) {
  return sandboxes(call).list(call, host_label(host));
}

void ContainerProvider::stop(const rmgr::Call& call, const rmgr::Allocation& allocation, rmgr::Millis grace) {
  sandboxes(call).stop(call, allocation, grace);
}

void ContainerProvider::remove(const rmgr::Call& call, const rmgr::Allocation& allocation) {
  try {
    sandboxes(call).remove(call, allocation);
  } catch (const rmgr::Error& error) {
    throw deferred(error);
  }
}

bool ContainerProvider::owns(const rmgr::Call& call, const rmgr::Allocation& allocation,
                             std::string_view environment) {
  return sandboxes(call).owns(call, allocation, environment);
}

}  // namespace plugins::engine
