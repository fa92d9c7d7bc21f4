// Typed access to one map of the file: each key is asked for by name and type, what nobody asked for is
// unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/node.hpp"
#include "config/problems.hpp"
#include "domain/time.hpp"

namespace agent::config {

// Every reader leaves `out` as it is when the key is absent or wrong; what is wrong is recorded. `node` may
// be null: an empty map. Both references outlive the section.
class Section {
 public:
  // `name` is how messages call it: "host", "policy `web`".
  Section(const Node* node, std::string name, Problems& problems);

  // The entry, and the key is known from now on. Null: absent or without a value (which is recorded).
  const Node* find(std::string_view key);
  const Node* find_required(std::string_view key);

  void text(std::string_view key, std::string& out);
  void required_text(std::string_view key, std::string& out);
  void integer(std::string_view key, std::int64_t& out, std::int64_t least, std::int64_t most);
  void boolean(std::string_view key, bool& out);
  void duration(std::string_view key, domain::Millis& out, domain::Millis least, domain::Millis most);
  void size(std::string_view key, std::int64_t& out);
  void cpu(std::string_view key, std::int64_t& out);
  // Absolute, without "." and "..", at most 1024 bytes; slashes at the end and doubled ones are dropped.
  void path(std::string_view key, std::string& out);
  void required_path(std::string_view key, std::string& out);
  // A word of a closed list. `otherwise` is what the caller takes without the key.
  std::optional<std::string> word(std::string_view key, std::span<const std::string_view> words,
                                  std::string_view otherwise);
  // A map or a list; null if absent or of another type.
  const Node* map(std::string_view key);
  const Node* list(std::string_view key);
  std::vector<std::string> texts(std::string_view key);

  // Reports every key that nobody asked for.
  void finish();

  [[nodiscard]] bool has(std::string_view key) const;
  // Where `key` stands, or the section itself if it is absent.
  [[nodiscard]] Mark mark_of(std::string_view key) const;
  [[nodiscard]] bool failed(std::string_view key) const { return failed_.contains(key); }
  [[nodiscard]] bool failed() const { return !failed_.empty(); }
  void fail(std::string_view key, Mark mark, std::string message);
  // Counts as failed; what is wrong was said elsewhere.
  void give_up(std::string_view key) { failed_.emplace(key); }

 private:
  const Node* scalar(std::string_view key, std::string_view wanted);
  void note(std::string_view key, std::string kind, std::string otherwise, std::string range = {}) const;

  const Node* node_;
  std::string name_;
  Problems& problems_;
  std::vector<std::string_view> known_;
  std::set<std::string, std::less<>> failed_;
  bool required_ = false;  // the key that is asked for now
};

// The text of a scalar, or the reason why it is none.
struct TextOrProblem {
  std::optional<std::string> text;
  std::string problem;
};
TextOrProblem text_of(const Node& node);

// A path in its plain form, or the reason why it is none.
TextOrProblem path_of(const Node& node);

std::string describe(const Node& node);  // "a list", "the number `5`"

}  // namespace agent::config
