// What the child that tries a plugin reports to its parent, on a channel of its own.
//
// Standard output and standard error belong to whatever the child loads: the dynamic loader, libraries, the
// plugin. So the report has a socket, which the child finds at one descriptor, closes to the programs it
// might start, and moves out of the way. The parent first sends a word that was drawn for this child alone;
// every record begins with it, which keeps out what a plugin prints and what it writes to a descriptor by
// mistake. It is no protection from code that means to deceive: a plugin shares the child's memory, can find
// the word and the descriptor there, and can report whatever it likes. Such a plugin does not need to, for it
// would be loaded into the daemon next; owner, mode and pin of the file are what stands against it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace agent::plugin {

inline constexpr int report_descriptor = 3;               // where the child finds the socket
inline constexpr const char* report_option = "--report";  // first argument of a child that has one
inline constexpr std::size_t most_schemas = 1024 * 1024;  // bytes of all schemas of one library

enum class Record : char {
  stage = 'S',    // the step that begins
  schemas = 'T',  // what was asked for
  refusal = 'R',  // the sentence with which it ends
  done = 'D',     // the last of a child that went through all of it; an exit code alone proves nothing
};

// A word that nobody can guess; empty if the system has no randomness.
std::string draw_word();

// The child's end.
class Reporter {
 public:
  // Takes over report_descriptor and receives the word. Before anything of a plugin is loaded.
  static std::optional<Reporter> take();
  // False if the parent can no longer be told.
  [[nodiscard]] bool send(Record kind, std::string_view text) const;

 private:
  Reporter(int socket, std::string word) : socket_(socket), word_(std::move(word)) {}
  int socket_;  // until the process ends
  std::string word_;
};

// The parent's end of it: takes the bytes as they come.
class ReportReader {
 public:
  explicit ReportReader(std::string word) : word_(std::move(word)) {}
  void take(std::string_view bytes);

  // Something else than whole records of this child came, or too much of them. Nothing is read after that.
  [[nodiscard]] bool damaged() const { return damaged_; }
  // The child said so, and nothing after it.
  [[nodiscard]] bool done() const { return done_ && !damaged_ && pending_.empty(); }
  [[nodiscard]] bool begun() const { return !stage_.empty(); }
  [[nodiscard]] const std::string& stage() const { return stage_; }
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  [[nodiscard]] const std::string& schemas() const { return schemas_; }

 private:
  bool take_record();
  void keep(Record kind, std::string text);

  std::string word_;
  std::string pending_;
  std::string stage_, refusal_, schemas_;
  std::size_t records_ = 0;
  bool done_ = false;
  bool damaged_ = false;
};

}  // namespace agent::plugin
