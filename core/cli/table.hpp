// Aligned columns for people.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

namespace agent::cli {

class Table {
 public:
  explicit Table(std::vector<std::string> head) : rows_{std::move(head)} {}
  // As many cells as the head has. Control characters are made visible; an empty cell is shown as "-".
  void add(std::vector<std::string> cells);
  [[nodiscard]] bool empty() const { return rows_.size() == 1; }
  void print(std::ostream& out) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// "3s", "5m", "2h", "4d": how long ago; "-" for 0.
std::string age(std::int64_t then_ms, std::int64_t now_ms);

}  // namespace agent::cli
