// Collects what is wrong, so that a reader never stops at the first mistake.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.hpp"
#include "config/extents.hpp"
#include "config/node.hpp"

namespace agent::config {

// A key that a reader asked for: what the reference of the configuration is made of.
struct Asked {
  std::string section, key, kind;
  std::string otherwise;  // the value without the key; empty: none
  std::string range;      // empty: none
  bool required = false;
};

class Problems {
 public:
  // Every key that readers ask for from now on goes there.
  void listen(std::vector<Asked>& keys) { keys_ = &keys; }
  void asked(Asked key) {
    if (keys_ != nullptr) keys_->push_back(std::move(key));
  }
  // The same place and message count once; behind the first hundred one more says that there are others.
  void add(Mark mark, std::string message);
  [[nodiscard]] bool empty() const { return found_.empty(); }
  [[nodiscard]] bool any_at(Mark mark) const;
  // In the order of the file, each with its line as far as it may be shown.
  [[nodiscard]] std::vector<Problem> finish(const std::string& file, std::string_view text,
                                            const Extents& extents) const;

 private:
  struct Found {
    Mark mark;
    std::string message;
    auto operator<=>(const Found&) const = default;
  };
  std::set<Found> found_;
  std::vector<Asked>* keys_ = nullptr;
};

// A value as a message may quote it: scrubbed and short, and nothing of one that may be a secret.
std::string shown(std::string_view value);
std::string shown(const Node& scalar);
std::string shown_key(const Entry& entry);

// ` Did you mean ...?` with the closest of `known`, or nothing if none is close.
std::string suggestion(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace agent::config
