// A package source over a directory that the operator fills.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mirror/directory.hpp"
#include "rmgr/package_source.hpp"

namespace plugins::mirror {

// Thread-safe: it keeps nothing but its directory's path.
class Mirror final : public rmgr::PackageSource {
 public:
  static constexpr std::string_view config_schema = R"({
    "type": "object",
    "additionalProperties": false,
    "required": ["directory"],
    "properties": {
      "directory": {"type": "string", "minLength": 1, "maxLength": 4096, "pattern": "^/", "description": "Absolute path of a directory with runner packages and their digests. Nobody but its owner may be able to write to it."}
    }
  })";
  static constexpr std::uint32_t flags = RMGR_COMPONENT_CONCURRENT;

  Mirror(rmgr::Host host, std::string_view config_json);

  std::vector<rmgr::Package> catalog(const rmgr::Call& call, const rmgr::PackageQuery& query) override;
  void fetch(const rmgr::Call& call, std::string_view ref, std::int64_t offset, std::string_view validator,
             const rmgr::FetchSink& sink) override;

 private:
  Directory directory_;
};

}  // namespace plugins::mirror
