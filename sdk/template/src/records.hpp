// Which attempts this instance prepared and has not yet removed. Kept by the host on disk, so the answers
// survive a restart of the daemon.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rmgr/host.hpp"

namespace processes {

struct Record {
  std::string host;
  std::string attempt;
  std::string generation;
  bool operator==(const Record&) const = default;
};

class Records {
 public:
  explicit Records(rmgr::Kv kv) : kv_(kv) {}
  [[nodiscard]] std::optional<Record> find(std::string_view attempt) const;
  [[nodiscard]] std::vector<Record> all() const;
  void keep(const Record& record) const;  // on the disk when it returns
  void drop(std::string_view attempt) const;

 private:
  rmgr::Kv kv_;
};

}  // namespace processes
