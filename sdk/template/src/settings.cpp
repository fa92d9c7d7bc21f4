#include "settings.hpp"

#include <algorithm>
#include <charconv>

#include "rmgr/error.hpp"

namespace processes {
namespace {

[[noreturn]] void refuse(std::string_view what) {
  throw rmgr::Error(rmgr::Status::invalid,
                    "The configuration of the template provider is wrong: " + std::string(what) + ".");
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  // Answers whether the next character is `wanted`, and takes it if so.
  bool take(char wanted) {
    skip();
    if (text_.empty() || text_.front() != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char wanted) {
    if (!take(wanted)) refuse(std::string("there is no '") + wanted + "' where one belongs");
  }
  std::string text() {
    expect('"');
    const std::size_t end = text_.find_first_of("\"\\");
    if (end == std::string_view::npos || text_[end] == '\\') refuse("a text does not end or needs escapes");
    std::string taken(text_.substr(0, end));
    text_.remove_prefix(end + 1);
    return taken;
  }
  int number() {
    skip();
    int value = 0;
    const auto [end, failure] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (failure != std::errc()) refuse("there is no number where one belongs");
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return value;
  }
  void end() {
    skip();
    if (!text_.empty()) refuse("something follows the object");
  }

 private:
  void skip() { text_.remove_prefix(std::min(text_.find_first_not_of(" \t\r\n"), text_.size())); }

  std::string_view text_;
};

}  // namespace

Settings parse_settings(std::string_view json) {
  Settings settings;
  Reader reader(json);
  reader.expect('{');
  if (!reader.take('}')) {
    do {
      const std::string name = reader.text();
      reader.expect(':');
      if (name == "search_path")
        settings.search_path = reader.text();
      else if (name == "nice")
        settings.nice = reader.number();
      else
        refuse("it has a member that the schema does not know");
    } while (reader.take(','));
    reader.expect('}');
  }
  reader.end();
  if (settings.nice < 0 || settings.nice > 19) refuse("nice must be 0 to 19");
  return settings;
}

}  // namespace processes
