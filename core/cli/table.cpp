#include "cli/table.hpp"

#include <algorithm>
#include <cstdint>
#include <ostream>

#include "observe/text.hpp"

namespace agent::cli {
namespace {

// Characters, not bytes: what continues a character has no width of its own.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
  cells.resize(rows_.front().size());
  for (std::string& cell : cells)
    cell = cell.empty() ? "-" : observe::escape_controls(cell);
  rows_.push_back(std::move(cells));
}

void Table::print(std::ostream& out) const {
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], width_of(row[i]));
  }
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line += std::string(widths[i] - width_of(row[i]) + 2, ' ');
    }
    out << line << '\n';
  }
}

std::string age(std::int64_t then_ms, std::int64_t now_ms) {
  if (then_ms <= 0) return "-";
  const std::int64_t seconds = std::max<std::int64_t>(0, now_ms - then_ms) / 1000;
  if (seconds < 120) return std::to_string(seconds) + "s";
  if (seconds < 120 * 60) return std::to_string(seconds / 60) + "m";
  if (seconds < 48 * 3600) return std::to_string(seconds / 3600) + "h";
  return std::to_string(seconds / 86'400) + "d";
}

}  // namespace agent::cli
