// Every enumerator of the log's vocabularies, found by walking until the word is empty.
#pragma once

#include <vector>

#include "observe/log.hpp"

namespace agent::observe::testing {

template <class Word>
std::vector<Word> walk() {
  std::vector<Word> all;
  for (int i = 0; i < 1000 && !to_string(static_cast<Word>(i)).empty(); ++i)
    all.push_back(static_cast<Word>(i));
  return all;
}
inline std::vector<Event> events() { return walk<Event>(); }
inline std::vector<Field> fields() { return walk<Field>(); }

}  // namespace agent::observe::testing
