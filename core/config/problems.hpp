// Collects what is wrong, so that a reader never stops at the first mistake.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "config/node.hpp"

namespace agent::config {

class Problems {
 public:
  // The same place and message count once; behind the first hundred one more says that there are others.
  void add(Mark mark, std::string message);
  [[nodiscard]] bool empty() const { return found_.empty(); }
  [[nodiscard]] bool any_at(Mark mark) const;
  // In the order of the file, each with its line as it may be shown.
  [[nodiscard]] std::vector<Problem> finish(const std::string& file, std::string_view text) const;

 private:
  struct Found {
    Mark mark;
    std::string message;
    auto operator<=>(const Found&) const = default;
  };
  std::set<Found> found_;
};

// A value as a message may quote it: scrubbed and short.
std::string shown(std::string_view value);

// ` Did you mean ...?` with the closest of `known`, or nothing if none is close.
std::string suggestion(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace agent::config
