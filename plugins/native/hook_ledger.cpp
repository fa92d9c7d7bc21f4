#include "native/hook_ledger.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include "rmgr/error.hpp"

namespace native {
namespace {

constexpr std::string_view prefix = "hooks/";
constexpr std::array<std::string_view, 4> stages{"before", "ready", "after", "done"};

std::string key(std::string_view attempt) { return std::string(prefix) + std::string(attempt); }

std::string write(const HookState& state) {
  std::ostringstream text;
  text << stages[static_cast<std::size_t>(state.stage)] << ' ' << state.tries;
  if (state.process)
    text << ' ' << state.process->pid << ' ' << state.process->start_token << ' ' << state.process->boot_id;
  return text.str();
}

std::optional<HookState> parse(const std::string& text) {
  std::istringstream words(text);
  std::string name;
  HookState state;
  if (!(words >> name >> state.tries)) return std::nullopt;
  const auto* const stage = std::find(stages.begin(), stages.end(), name);
  if (stage == stages.end()) return std::nullopt;
  state.stage = static_cast<HookStage>(stage - stages.begin());
  rmgr::ProcessIdentity process;
  if (!(words >> process.pid)) return words.eof() ? std::optional(state) : std::nullopt;
  if (!(words >> process.start_token >> process.boot_id)) return std::nullopt;
  state.process = process;
  return state;
}

}  // namespace

std::map<std::string, std::string, std::less<>>& HookLedger::known() const {
  if (!known_) {
    std::map<std::string, std::string, std::less<>> all;
    for (const std::string& name : kv_.list(prefix)) {
      if (auto text = kv_.get(name)) all.emplace(name, std::move(*text));
    }
    known_ = std::move(all);
  }
  return *known_;
}

std::optional<HookState> HookLedger::find(std::string_view attempt) const {
  const std::lock_guard lock(mutex_);
  const auto found = known().find(key(attempt));
  if (found == known().end()) return std::nullopt;
  const auto state = parse(found->second);
  if (state) return state;
  throw rmgr::Error(
      rmgr::Status::internal,
      "The record of an attempt's hooks is damaged; remove what is stored for this instance after "
      "making sure that no runner of it is left.");
}

// A change that failed may have been made all the same, so what is known is read anew after it.
void HookLedger::put(std::string_view attempt, const HookState& state) {
  const std::lock_guard lock(mutex_);
  auto& all = known();
  const std::string text = write(state);
  try {
    kv_.put(key(attempt), text);
  } catch (...) {
    known_.reset();
    throw;
  }
  all.insert_or_assign(key(attempt), text);
}

void HookLedger::remove(std::string_view attempt) {
  const std::lock_guard lock(mutex_);
  auto& all = known();
  if (!all.contains(key(attempt))) return;
  try {
    kv_.remove(key(attempt));
  } catch (...) {
    known_.reset();
    throw;
  }
  all.erase(key(attempt));
}

}  // namespace native
