#include "config/problems.hpp"

#include <algorithm>

#include "config/secrets.hpp"
#include "observe/log.hpp"

namespace agent::config {
namespace {

constexpr std::size_t kMost = 100;
constexpr std::size_t kLongestLine = 160;
constexpr std::size_t kLongestQuote = 60;

std::string cut(std::string text, std::size_t limit) {
  if (text.size() <= limit) return text;
  std::size_t end = limit - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
    --end;
  return text.substr(0, end) + "...";
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

// The column again, if the line is shown as it is up to there; else 0.
int caret_in(std::string_view shown, std::string_view line, int column) {
  std::size_t bytes = 0;
  for (int at = 0; bytes < line.size(); ++bytes) {
    if (begins_character(line[bytes]) && ++at == column) break;
  }
  const bool whole = bytes < shown.size() || bytes == line.size();
  return whole && shown.starts_with(line.substr(0, bytes)) ? column : 0;
}

// How many characters must be inserted, removed, replaced or swapped with a neighbour.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const std::size_t replace = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

void Problems::add(Mark mark, std::string message) {
  if (found_.size() <= kMost) found_.insert({mark, observe::scrub(message)});
}

bool Problems::any_at(Mark mark) const {
  return std::any_of(found_.begin(), found_.end(), [&](const Found& found) { return found.mark == mark; });
}

std::vector<Problem> Problems::finish(const std::string& file, std::string_view text,
                                      const Extents& extents) const {
  const std::vector<std::string_view> lines = lines_of(text);
  std::vector<Problem> all;
  for (const Found& found : found_) {
    Problem problem{file, found.mark.line, found.mark.column, found.message, {}, 0};
    const auto index = static_cast<std::size_t>(std::max(found.mark.line, 0));
    if (index >= 1 && index <= lines.size() && !extents.hides(found.mark.line)) {
      problem.text = cut(shown_line(lines[index - 1]), kLongestLine);
      problem.caret = caret_in(problem.text, lines[index - 1], found.mark.column);
    }
    all.push_back(std::move(problem));
    if (all.size() == kMost && found_.size() > kMost) {
      all.push_back({file, 0, 0, "there are further problems; correct these first", {}, 0});
      break;
    }
  }
  return all;
}

std::string shown(std::string_view value) {
  return "`" + cut(shown_line(value.substr(0, 4 * kLongestQuote)), kLongestQuote) + "`";
}

std::string shown(const Node& scalar) { return scalar.secret ? "`[redacted]`" : shown(scalar.text); }

std::string shown_key(const Entry& entry) { return entry.secret ? "`[redacted]`" : shown(entry.key); }

std::string suggestion(std::string_view word, const std::vector<std::string_view>& known) {
  if (word.size() > 64) return {};
  std::string_view best;
  std::size_t least = std::max<std::size_t>(1, std::min<std::size_t>(3, word.size() / 3)) + 1;
  for (const std::string_view candidate : known) {
    const std::size_t found = distance(word, candidate);
    if (found < least) {
      least = found;
      best = candidate;
    }
  }
  return best.empty() ? std::string{} : " Did you mean `" + std::string(best) + "`?";
}

std::string to_string(const Problem& problem) {
  std::string out = problem.file;
  if (problem.line > 0) out += ":" + std::to_string(problem.line) + ":" + std::to_string(problem.column);
  out += ": " + problem.message;
  if (problem.text.empty()) return out;
  out += "\n    " + problem.text;
  if (problem.caret == 0) return out;
  return out + "\n    " + std::string(static_cast<std::size_t>(problem.caret - 1), ' ') + "^";
}

}  // namespace agent::config
