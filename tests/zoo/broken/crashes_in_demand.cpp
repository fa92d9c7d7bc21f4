// Everything goes well until it is asked for demand: nothing that a trial does would show it.
#include <csignal>
#include <cstdlib>

#include "rmgr/plugin.hpp"

namespace {

#if defined(OVERFLOWS)
// Recurs until the stack is used up; the question keeps the compiler from knowing.
[[gnu::noinline]] int deeper(const rmgr::Call& call) {
  volatile char frame[4096] = {};
  frame[0] = call.requested() ? 1 : 0;
  if (frame[0] != 0) return 1;
  return deeper(call) + frame[1];
}
#endif

class Gateway : public rmgr::Gateway {
 public:
  static constexpr std::uint32_t flags = 0;
  static constexpr std::string_view config_schema = R"({"type": "object", "properties": {}})";
  Gateway(rmgr::Host, std::string_view) {}

  rmgr::Demand demand(const rmgr::Call& call, std::string_view) override {
#if defined(OVERFLOWS)
    rmgr::Demand all;
    all.quota_left_percent = deeper(call);
    return all;
#else
    (void)call;
    std::abort();
#endif
  }
  std::vector<rmgr::Runner> inventory(const rmgr::Call&, std::string_view) override { return {}; }
  rmgr::Registration register_runner(const rmgr::Call&, const rmgr::RegistrationRequest&) override {
    throw rmgr::Error(rmgr::Status::unsupported, "It registers nothing.");
  }
  void deregister(const rmgr::Call&, std::string_view, std::int64_t) override {}
};

}  // namespace

RMGR_PLUGIN(Gateway);
