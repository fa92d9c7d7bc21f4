// Short texts by name, in the host's durable map; in memory where the host has none.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rmgr/host.hpp"

namespace sample {

class Store {
 public:
  explicit Store(rmgr::Host host)
      : kv_(host.kv()), durable_(host.find<rmgr_kv_service>(RMGR_SERVICE_KV) != nullptr) {}

  [[nodiscard]] std::optional<std::string> get(const std::string& name) const {
    if (durable_) return kv_.get(name);
    const auto found = memory_.find(name);
    return found == memory_.end() ? std::nullopt : std::optional(found->second);
  }
  void put(const std::string& name, const std::string& text) {
    if (durable_)
      kv_.put(name, text);
    else
      memory_[name] = text;
  }
  void remove(const std::string& name) {
    if (durable_)
      kv_.remove(name);
    else
      memory_.erase(name);
  }
  // Every name, in no order.
  [[nodiscard]] std::vector<std::string> names() const {
    if (durable_) return kv_.list("");
    std::vector<std::string> all;
    for (const auto& [name, text] : memory_)
      all.push_back(name);
    return all;
  }

 private:
  rmgr::Kv kv_;
  bool durable_;
  std::map<std::string, std::string> memory_;
};

}  // namespace sample
