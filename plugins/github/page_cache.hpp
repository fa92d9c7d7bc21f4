// Pages that the server need not send again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "github/parse.hpp"

namespace plugins::github {

struct CachedPage {
  std::string etag;
  std::string next;  // URL of the page after it; empty if it is the last
  Page page;
};

// Thread-safe. Keeps the pages that were used last.
class PageCache {
 public:
  explicit PageCache(std::size_t most = 512) : most_(most) {}
  // Null if there is none.
  std::shared_ptr<const CachedPage> find(const std::string& url);
  void keep(const std::string& url, std::shared_ptr<const CachedPage> page);

 private:
  struct Entry {
    std::uint64_t used = 0;
    std::shared_ptr<const CachedPage> page;
  };
  std::size_t most_;
  std::mutex mutex_;
  std::uint64_t uses_ = 0;
  std::map<std::string, Entry> entries_;
};

}  // namespace plugins::github
