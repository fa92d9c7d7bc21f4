#include "config/yaml.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <exception>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "config/secrets.hpp"

namespace agent::config {
namespace {

constexpr std::size_t kDeepest = 24;
constexpr std::size_t kMostKeys = 2'000;
constexpr std::size_t kMostNodes = 50'000;

// The parser counts bytes; an editor shows characters.
class Places {
 public:
  explicit Places(std::string_view text) : text_(text) {
    starts_.push_back(0);
    for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1))
      starts_.push_back(at + 1);
  }
  [[nodiscard]] Mark of(const YAML::Mark& mark) {
    if (mark.is_null()) return {};
    const auto line = static_cast<std::size_t>(mark.line);
    if (line >= starts_.size()) return {mark.line + 1, mark.column + 1};
    const auto end = starts_[line] + static_cast<std::size_t>(mark.column);
    // Marks mostly move on, and a line may be long: it is counted on from the last one.
    if (end < counted_ || counted_ < starts_[line]) {
      counted_ = starts_[line];
      column_ = 1;
    }
    for (; counted_ < end && counted_ < text_.size(); ++counted_)
      column_ += (static_cast<unsigned char>(text_[counted_]) & 0xC0U) == 0x80U ? 0 : 1;
    return {mark.line + 1, column_};
  }

 private:
  std::string_view text_;
  std::vector<std::size_t> starts_;
  std::size_t counted_ = 0;  // up to here, within one line
  int column_ = 1;
};

// Ends the parse; the reason is recorded already.
struct GivenUp {};

// Builds the tree from the parser's events. The parser's own node type is not used: it keeps duplicate keys,
// expands aliases and loses the quotes.
class Builder final : public YAML::EventHandler {
 public:
  Builder(Places& places, Problems& problems, Extents& extents)
      : places_(places), problems_(problems), extents_(extents) {}

  [[nodiscard]] std::optional<Node> take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ == 1) return;
    extents_.begin(to_mark(mark));
    problems_.add(to_mark(mark), "a second document begins here; the file must hold exactly one");
    throw GivenUp{};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node;
    node.mark = to_mark(mark);
    const std::size_t extent = begin(node.mark, anchor);
    put(std::move(node), extent);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node;
    node.mark = to_mark(mark);
    node.kind = Node::Kind::scalar;
    problems_.add(node.mark, "aliases (*name) are not used here; write the value out");
    const std::size_t extent = begin(node.mark, 0);
    extents_.alias(anchor, extent);
    alias_ = true;
    put(std::move(node), extent);
    alias_ = false;
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Node node;
    node.kind = Node::Kind::scalar;
    node.mark = to_mark(mark);
    node.text = value;
    node.quoted = tag == "!";
    check_tag(tag, node.mark);
    const std::size_t extent = begin(node.mark, anchor);
    if (may_hold_secret(value)) extents_.hide(extent);
    put(std::move(node), extent);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::sequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::map, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  [[nodiscard]] Mark to_mark(const YAML::Mark& mark) { return places_.of(mark); }

  struct Level {
    Node node;
    std::size_t extent = 0;
    std::optional<Entry> entry;  // of a map: its key was read, its value was not
    bool refused = false;
    bool telling = false;  // the key says that a secret follows
  };

  void check_tag(const std::string& tag, Mark mark) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    problems_.add(mark, "tags (!name) are not used here; leave it out");
  }

  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    Level level;
    level.node.kind = kind;
    level.node.mark = to_mark(mark);
    check_tag(tag, level.node.mark);
    level.extent = begin(level.node.mark, anchor);
    if (levels_.size() == kDeepest) {
      problems_.add(level.node.mark, "nested too deeply; at most " + std::to_string(kDeepest) + " levels");
      throw GivenUp{};
    }
    levels_.push_back(std::move(level));
  }

  void close() {
    Node node = std::move(levels_.back().node);
    const std::size_t extent = levels_.back().extent;
    levels_.pop_back();
    put(std::move(node), extent);
  }

  std::size_t begin(Mark mark, YAML::anchor_t anchor) {
    const std::size_t extent = extents_.begin(mark);
    if (anchor == 0) return extent;
    problems_.add(mark, "anchors (&name) are not used here; leave it out");
    extents_.anchor(anchor, extent);
    return extent;
  }

  void put(Node node, std::size_t extent) {
    extents_.end(extent);
    node.secret = secret_ > 0;
    if (++nodes_ > kMostNodes) {
      problems_.add(node.mark, "too many values; at most " + std::to_string(kMostNodes));
      throw GivenUp{};
    }
    if (levels_.empty()) {
      root_ = std::move(node);
      return;
    }
    Level& level = levels_.back();
    if (level.node.kind == Node::Kind::sequence) {
      level.node.items.push_back(std::move(node));
    } else if (!level.entry) {
      key(level, std::move(node));
    } else {
      value(level, std::move(node), extent);
    }
  }

  // What an alias means as a key is not known here; a list or a map tells by any part of it.
  [[nodiscard]] static bool tells(const Node& key) {
    return (key.kind == Node::Kind::scalar && is_telling(key.text)) ||
           std::any_of(key.items.begin(), key.items.end(), tells) ||
           std::any_of(key.entries.begin(), key.entries.end(),
                       [](const Entry& entry) { return is_telling(entry.key) || tells(entry.value); });
  }

  // A key that is refused takes its value with it.
  void key(Level& level, Node node) {
    level.refused = true;
    if (node.kind != Node::Kind::scalar) {
      problems_.add(node.mark, "a key must be a plain word");
    } else if (node.text == "<<" && !node.quoted) {
      problems_.add(node.mark, "merge keys (<<) are not used here; write the values out");
    } else {
      level.refused = false;
    }
    level.telling = alias_ || tells(node);
    if (level.telling) ++secret_;
    level.entry = Entry{std::move(node.text), node.mark, {}, node.secret};
  }

  void value(Level& level, Node node, std::size_t extent) {
    Entry entry = std::move(*level.entry);
    level.entry.reset();
    extents_.belongs(extent, entry.mark);
    if (level.telling) {
      --secret_;
      if (alias_ || !is_harmless(node)) extents_.hide(extent);
    }
    if (level.refused) return;
    // The parser places a missing value where the next token stands.
    if (node.kind == Node::Kind::null) node.mark = entry.mark;
    for (const Entry& before : level.node.entries) {
      if (before.key != entry.key) continue;
      problems_.add(entry.mark, "the key " + shown_key(entry) + " was given already in line " +
                                    std::to_string(before.mark.line) + "; a key counts once");
      return;
    }
    if (level.node.entries.size() == kMostKeys) {
      problems_.add(entry.mark, "too many keys in one map; at most " + std::to_string(kMostKeys));
      throw GivenUp{};
    }
    entry.value = std::move(node);
    level.node.entries.push_back(std::move(entry));
  }

  Places& places_;
  Problems& problems_;
  Extents& extents_;
  std::optional<Node> root_;
  std::vector<Level> levels_;
  std::size_t nodes_ = 0;
  int documents_ = 0;
  int secret_ = 0;      // how many telling keys stand around what comes next
  bool alias_ = false;  // what is put now
};

}  // namespace

std::optional<Node> parse_yaml(const std::string& text, Problems& problems, Extents& extents) {
  Places places(text);
  Builder builder(places, problems, extents);
  try {
    std::istringstream in(text);
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
    }
    extents.finish();
    return builder.take_root();
  } catch (const GivenUp&) {
    extents.finish();
    return builder.take_root();
  } catch (const YAML::Exception& error) {
    // Behind a colon the parser quotes the file.
    extents.hide_all();
    problems.add(places.of(error.mark), "this is not YAML: " + error.msg.substr(0, error.msg.find(':')));
  } catch (const std::exception&) {
    extents.hide_all();
    problems.add({}, "this is not YAML");
  }
  return std::nullopt;
}

}  // namespace agent::config
