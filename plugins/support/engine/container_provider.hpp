// What every provider does alike that runs each attempt in a container of an engine.
#pragma once

#include "rmgr/execution_provider.hpp"
#include "support/engine/sandboxes.hpp"

namespace plugins::engine {

class ContainerProvider : public rmgr::ExecutionProvider {
 public:
  std::vector<rmgr::Owned> recover(const rmgr::Call& call, const rmgr::Allocation& allocation) override;
  void stop(const rmgr::Call& call, const rmgr::Allocation& allocation, rmgr::Millis grace) override;
  // Whatever failed is tried again.
  void remove(const rmgr::Call& call, const rmgr::Allocation& allocation) override;
  std::vector<rmgr::Owned> enumerate_owned(const rmgr::Call& call, std::string_view host) override;
  bool owns(const rmgr::Call& call, const rmgr::Allocation& allocation,
            std::string_view environment) override;

 protected:
  // Over the engine that this instance uses; any thread. Throws rmgr::Error.
  virtual Sandboxes sandboxes(const rmgr::Call& call) = 0;
};

}  // namespace plugins::engine
