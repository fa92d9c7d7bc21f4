// Aligned columns for people.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace agent::cli {

class Table {
 public:
  explicit Table(std::vector<std::string> head) { rows_.push_back(std::move(head)); }
  // As many cells as the head has. What would move a terminal's cursor is made visible; an empty cell is "-".
  void add(std::vector<std::string> row);
  [[nodiscard]] bool empty() const { return rows_.size() == 1; }
  void print(std::ostream& out) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace agent::cli
