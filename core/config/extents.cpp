#include "config/extents.hpp"

#include <algorithm>

namespace agent::config {

Extents::Extents(std::string_view text) : text_(text) {
  starts_.push_back(0);
  for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1))
    starts_.push_back(at + 1);
  lines_.resize(starts_.size() + 1);
}

std::size_t Extents::begin(Mark mark) {
  if (mark.line > 0) {
    for (const std::size_t index : ended_)
      extents_[index].last = std::max(extents_[index].first, begins_line(mark) ? mark.line - 1 : mark.line);
    ended_.clear();
  }
  extents_.push_back({.mark = mark, .key = {}, .first = mark.line});
  return extents_.size() - 1;
}

void Extents::end(std::size_t extent) { ended_.push_back(extent); }

void Extents::belongs(std::size_t extent, Mark key) {
  extents_[extent].key = key;
  extents_[extent].first = std::min(extents_[extent].first, key.line);
}

void Extents::hide(std::size_t extent) { extents_[extent].hidden = true; }

// Nothing but indentation and signs stands before it, so nothing of the value before it.
bool Extents::begins_line(Mark mark) {
  if (static_cast<std::size_t>(mark.line) > starts_.size()) return false;
  if (blank_.first != mark.line) {
    const std::size_t start = starts_[static_cast<std::size_t>(mark.line) - 1];
    const std::size_t sign = std::min(text_.size(), text_.find_first_not_of(" -?:[{", start));
    blank_ = {mark.line, static_cast<int>(sign - start)};
  }
  return mark.column - 1 <= blank_.second;
}

void Extents::cover(const Extent& extent) {
  const auto last = std::min(lines_.size() - 1, static_cast<std::size_t>(extent.last));
  for (auto line = static_cast<std::size_t>(extent.first); line <= last; ++line)
    lines_[line] = true;
}

void Extents::finish() {
  for (const Extent& extent : extents_) {
    if (extent.hidden) cover(extent);
  }
  // An alias stands behind its anchor, so one way back finds what is hidden by way of others.
  for (auto alias = aliases_.rbegin(); alias != aliases_.rend(); ++alias) {
    const auto [name, from] = *alias;
    if (!hides(extents_[from].mark.line)) continue;
    const auto named = std::lower_bound(anchors_.begin(), anchors_.end(), std::pair{name, std::size_t{0}});
    if (named == anchors_.end() || named->first != name) continue;
    Extent& meant = extents_[named->second];
    if (!meant.hidden) cover(meant);
    meant.hidden = true;
  }
}

void Extents::hide_at(Mark mark) {
  for (const Extent& extent : extents_) {
    if (extent.mark == mark || extent.key == mark) cover(extent);
  }
}

bool Extents::hides(int line) const {
  return all_ || (line > 0 && static_cast<std::size_t>(line) < lines_.size() &&
                  lines_[static_cast<std::size_t>(line)]);
}

}  // namespace agent::config
