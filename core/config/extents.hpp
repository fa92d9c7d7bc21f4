// Which lines of the file each value takes, and which of them are not shown because a secret may stand there.
#pragma once

#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "config/node.hpp"

namespace agent::config {

// Follows the parser: each node has one extent, from where it begins up to what follows it. The text outlives
// this.
class Extents {
 public:
  explicit Extents(std::string_view text);

  // A node begins, or a document if its extent is left alone; what has ended before reaches up to here.
  std::size_t begin(Mark mark);
  void end(std::size_t extent);
  // The value under the key at `key`: its extent begins there.
  void belongs(std::size_t extent, Mark key);
  void hide(std::size_t extent);
  // An anchor, and an alias of it. What a hidden line refers to is hidden as well.
  void anchor(std::size_t name, std::size_t extent) { anchors_.emplace_back(name, extent); }
  void alias(std::size_t name, std::size_t extent) { aliases_.emplace_back(name, extent); }
  // Nothing follows. What has not ended reaches to the end of the text.
  void finish();

  // The structure is not known: no line is shown.
  void hide_all() { all_ = true; }
  // After the end: the value at this place, or under the key at this place.
  void hide_at(Mark mark);
  [[nodiscard]] bool hides(int line) const;

 private:
  struct Extent {
    Mark mark, key;
    int first = 0;
    int last = std::numeric_limits<int>::max();
    bool hidden = false;
  };

  [[nodiscard]] bool begins_line(Mark mark);
  void cover(const Extent& extent);

  std::string_view text_;
  std::vector<std::size_t> starts_;  // of the lines
  std::vector<bool> lines_;          // those that are hidden, from 1
  std::vector<Extent> extents_;
  std::vector<std::size_t> ended_;  // what follows them is not known yet
  std::vector<std::pair<std::size_t, std::size_t>> anchors_, aliases_;
  std::pair<int, int> blank_{0, 0};  // a line, and how many of its bytes say nothing
  bool all_ = false;
};

}  // namespace agent::config
