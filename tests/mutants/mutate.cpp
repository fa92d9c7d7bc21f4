// rmgr-mutate TABLE NAME SOURCE_ROOT OUTPUT: writes the source file of one mutant.
//
// A table holds entries of this form; empty lines and lines with # are skipped:
//   mutant: NAME
//   source: core/ROOM/FILE.cpp
//   mistake: one sentence that says what is wrong in this program
//    a line that stays
//   -a line that goes
//   +a line that comes
// The lines that stay and go must be in the source exactly once, in one piece. Otherwise this fails, so that
// a table cannot fall behind the code.
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

namespace {

struct Mutant {
  std::string source, mistake, before, after;
  bool found = false;
};

std::string value_of(const std::string& line) { return line.substr(line.find(':') + 2); }

Mutant read_entry(std::istream& table, const std::string& name) {
  Mutant mutant;
  bool here = false;
  for (std::string line; std::getline(table, line);) {
    if (line.empty() || line.front() == '#') continue;
    if (line.starts_with("mutant: ")) here = value_of(line) == name;
    if (!here) continue;
    mutant.found = true;
    const std::string text = line.substr(1) + "\n";
    if (line.starts_with("source: ")) {
      mutant.source = value_of(line);
    } else if (line.starts_with("mistake: ")) {
      mutant.mistake = value_of(line);
    } else if (line.front() == ' ') {
      mutant.before += text;
      mutant.after += text;
    } else if (line.front() == '-') {
      mutant.before += text;
    } else if (line.front() == '+') {
      mutant.after += text;
    }
  }
  return mutant;
}

// How often whole lines of `text` are `piece`; `where` is the last place.
int places_of(const std::string& text, const std::string& piece, std::size_t& where) {
  int count = 0;
  for (auto at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1)) {
    if (at != 0 && text[at - 1] != '\n') continue;
    ++count;
    where = at;
  }
  return count;
}

int fail(const std::string& name, const std::string& why) {
  std::cerr << "mutant " << name << ": " << why << '\n';
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: rmgr-mutate TABLE NAME SOURCE_ROOT OUTPUT\n";
    return 2;
  }
  const std::string name = argv[2];
  std::ifstream table(argv[1]);
  const Mutant mutant = read_entry(table, name);
  if (!mutant.found) return fail(name, std::string("the table ") + argv[1] + " has no such entry");
  if (mutant.source.empty() || mutant.mistake.empty() || mutant.before.empty() ||
      mutant.before == mutant.after)
    return fail(name, "its entry needs a source, a mistake and lines that differ");
  std::ifstream source(std::string(argv[3]) + "/" + mutant.source);
  std::stringstream content;
  content << source.rdbuf();
  std::string text = content.str();
  std::size_t where = 0;
  const int places = places_of(text, mutant.before, where);
  if (places != 1) {
    return fail(name, "its lines are " + std::to_string(places) + " times in " + mutant.source +
                          " and must be there exactly once; bring the table up to date with the code");
  }
  text.replace(where, mutant.before.size(), mutant.after);
  std::ofstream output(argv[4]);
  output << text;
  return output.flush() ? 0 : fail(name, std::string("cannot write ") + argv[4]);
}
