// In whose call the process crashed, for the next start to know.
//
// A plugin that breaks memory takes the daemon along, and would again after each start. While a thread is in
// a plugin's call it carries the digest of the library; a fatal signal in that thread, or exit() called by
// it, writes it to a file. An end from outside (SIGKILL, power loss, a signal that another process sent)
// leaves no note, so nobody is blamed for it; neither is anybody for what happens in the host's own code
// while a plugin waits for it, or in a thread of the plugin's own.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "domain/result.hpp"

namespace agent::plugin {

inline constexpr std::size_t digest_size = 64;  // hex digits

// Reads the notes of the process before this one, each a digest that stands there once, and removes them; at
// most 16.
domain::Result<std::vector<std::string>> take_crash_notes(const std::string& path);

// From here on a fatal signal in a call leaves a note in the file. Once in a process; what handled these
// signals before still does, after the note. The calling thread gets an AlternateStack.
domain::Result<void> leave_crash_notes(const std::string& path);

// Without one a thread that has used up its stack has nowhere to run the handler. One that is there already
// stays in use. Every thread that calls plugins has one.
class AlternateStack {
 public:
  AlternateStack() noexcept;
  ~AlternateStack();
  AlternateStack(const AlternateStack&) = delete;
  AlternateStack& operator=(const AlternateStack&) = delete;

 private:
  void* memory_ = nullptr;  // null: not ours
};

// Whom this thread would blame.
struct Blame {
  const char* plugin = nullptr;  // null: nobody
  const char* caller = nullptr;  // who waits for the host's code, which runs now
};

// This thread is in a call of the library; without a digest, in a call of one that cannot be named. Nests:
// the innermost counts.
class InCallOf {
 public:
  explicit InCallOf(std::string_view digest) noexcept;
  ~InCallOf();
  InCallOf(const InCallOf&) = delete;
  InCallOf& operator=(const InCallOf&) = delete;

 private:
  std::array<char, digest_size + 1> line_{};  // with the end of line; empty if there is no digest
  const Blame outer_;
};

// The plugin called back: this is the host's code.
class InHostCode {
 public:
  InHostCode() noexcept;
  ~InHostCode();
  InHostCode(const InHostCode&) = delete;
  InHostCode& operator=(const InHostCode&) = delete;

 private:
  const Blame outer_;
};

// Within InHostCode: calls a function of the plugin that waits, or reads its memory.
class InPluginAgain {
 public:
  InPluginAgain() noexcept;
  ~InPluginAgain();
  InPluginAgain(const InPluginAgain&) = delete;
  InPluginAgain& operator=(const InPluginAgain&) = delete;

 private:
  const Blame outer_;
};

template <class Function>
auto as_host(Function&& function) {
  const InHostCode host;
  return function();
}

}  // namespace agent::plugin
