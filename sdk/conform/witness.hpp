// What a plugin did to the host in this process, kept for the tests to ask about.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace rmgr::conform {

enum class Breach {
  late_write,      // a sink, an error or a call context was used after its call had returned
  after_refusal,   // a sink was written to although it had refused an item
  after_error,     // a sink was written to after the error was explained
  foreign_thread,  // a sink or an error was used on another thread than that of its call
  explained_twice,
  explained_success,
  unexplained,
  not_utf8,
  unknown_status,
  threw,
  after_destroy,  // a service was used after the instance had ended
};

class Witness {
 public:
  void note(Breach breach, const std::string& where);
  // The first place of that breach; empty if there was none.
  [[nodiscard]] std::string first(Breach breach) const;
  // Keeps a text that the plugin let out, to be searched for secrets later.
  void heard(std::string_view text, std::string_view where);
  // Where a text that holds `needle` came from; empty if none does.
  [[nodiscard]] std::string who_said(std::string_view needle) const;
  // What must stay in place until the process ends, because a late plugin may still use it.
  void keep(std::shared_ptr<void> object);

 private:
  struct Note {
    Breach breach;
    std::string where;
  };
  struct Heard {
    std::string text, where;
  };
  mutable std::mutex mutex_;
  std::vector<Note> notes_;
  std::vector<Heard> heard_;
  std::vector<std::shared_ptr<void>> kept_;
};

[[nodiscard]] Witness& witness();

}  // namespace rmgr::conform
