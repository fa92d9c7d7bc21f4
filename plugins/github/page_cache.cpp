#include "github/page_cache.hpp"

#include <algorithm>
#include <utility>

namespace plugins::github {

std::shared_ptr<const CachedPage> PageCache::find(const std::string& url) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(url);
  if (found == entries_.end()) return nullptr;
  found->second.used = ++uses_;
  return found->second.page;
}

void PageCache::keep(const std::string& url, std::shared_ptr<const CachedPage> page) {
  const std::lock_guard lock(mutex_);
  entries_[url] = {++uses_, std::move(page)};
  if (entries_.size() <= most_) return;
  const auto oldest = std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
    return a.second.used < b.second.used;
  });
  entries_.erase(oldest);
}

}  // namespace plugins::github
