// The package source: which runner GitHub offers to a target, and its bytes.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "github/session.hpp"
#include "rmgr/package_source.hpp"

namespace plugins::github {

// Thread-safe: calls of one instance may overlap.
class Packages final : public rmgr::PackageSource {
 public:
  static constexpr std::string_view config_schema = kSchema;
  static constexpr std::uint32_t flags = RMGR_COMPONENT_CONCURRENT;

  Packages(rmgr::Host host, std::string_view config_json);

  std::vector<rmgr::Package> catalog(const rmgr::Call& call, const rmgr::PackageQuery& query) override;
  void fetch(const rmgr::Call& call, std::string_view ref, std::int64_t offset, std::string_view validator,
             const rmgr::FetchSink& sink) override;

 private:
  // What a ref stands for. The query of a URL and the token may be secrets, so they stay here.
  struct Source {
    std::string url;
    http::Secret token;
  };
  void remember(const std::string& ref, std::string url, const rmgr::Secret& token);
  Source find(std::string_view ref);
  void check_url(const std::string& url, const std::string& what) const;

  Session session_;
  std::mutex mutex_;
  std::map<std::string, Source, std::less<>> sources_;
};

}  // namespace plugins::github
