// A document as a tree of our own, each node with its place; nothing outside yaml.cpp sees the parser.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace agent::config {

// A place in the file, from 1. Line 0: the file as a whole.
struct Mark {
  int line = 0;
  int column = 0;
  auto operator<=>(const Mark&) const = default;
};

struct Entry;

struct Node {
  enum class Kind { null, scalar, sequence, map };
  Kind kind = Kind::null;
  Mark mark;
  std::string text;  // of a scalar
  bool quoted = false;
  bool secret = false;         // no message quotes it: it stands under a telling key
  std::vector<Node> items;     // of a sequence
  std::vector<Entry> entries;  // of a map, in the order of the file
};

struct Entry {
  std::string key;
  Mark mark;
  Node value;
  bool secret = false;  // the key itself stands under a telling key
};

// What a scalar is by how it is written. A trap is an unquoted word that parsers of YAML disagree about: yes,
// on, True, 010, 0x1f, 1_000, .inf.
enum class Written { text, integer, real, boolean, trap };
Written written_as(const Node& scalar);

}  // namespace agent::config
