#include "support/engine/patience.hpp"

#include <algorithm>

namespace plugins::engine {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

Patience::Patience(milliseconds time) : end_(steady_clock::now() + time) {
  abi_.struct_size = sizeof abi_;
  abi_.ctx = this;
  abi_.requested = [](void*) noexcept -> std::int32_t { return 0; };
  abi_.remaining_ms = [](void* ctx) noexcept -> std::int64_t {
    const auto left = static_cast<const Patience*>(ctx)->end_ - steady_clock::now();
    return std::max<std::int64_t>(duration_cast<milliseconds>(left).count(), 0);
  };
  abi_.on_cancel = [](void*, void (*)(void*), void*) noexcept -> std::uint64_t { return 1; };
  abi_.off_cancel = [](void*, std::uint64_t) noexcept {};
}

}  // namespace plugins::engine
