#include "rmgr/plugin.hpp"

namespace {

class Empty : public rmgr::PackageSource {
 public:
  static constexpr std::uint32_t flags = RMGR_COMPONENT_CONCURRENT;
  static constexpr std::string_view config_schema = R"({"type": "object"})";
  Empty(rmgr::Host, std::string_view) {}
  std::vector<rmgr::Package> catalog(const rmgr::Call&, const rmgr::PackageQuery&) override { return {}; }
  void fetch(const rmgr::Call&, std::string_view, std::int64_t, std::string_view,
             const rmgr::FetchSink&) override {
    throw rmgr::Error(rmgr::Status::not_found, "This source has no packages.");
  }
};

}  // namespace

RMGR_PLUGIN(Empty);
