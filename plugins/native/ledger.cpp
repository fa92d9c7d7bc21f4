#include "native/ledger.hpp"

#include <algorithm>
#include <charconv>

#include "rmgr/error.hpp"

namespace native {
namespace {

constexpr std::string_view prefix = "account/";

std::string key(std::uint32_t uid) { return std::string(prefix) + std::to_string(uid); }

std::string value(const Assignment& assignment) {
  return assignment.attempt + ' ' + assignment.generation + ' ' + assignment.host;
}

Assignment parse(std::string_view name, std::string_view text) {
  Assignment assignment;
  const std::string_view number = name.substr(prefix.size());
  const auto [end, failure] = std::from_chars(number.data(), number.data() + number.size(), assignment.uid);
  const std::size_t first = text.find(' ');
  const std::size_t second = first == std::string_view::npos ? first : text.find(' ', first + 1);
  if (failure != std::errc() || end != number.data() + number.size() || second == std::string_view::npos) {
    throw rmgr::Error(
        rmgr::Status::internal,
        "The record of a job account's use is damaged; remove what is stored for this instance after "
        "making sure that no runner of it is left.");
  }
  assignment.attempt = text.substr(0, first);
  assignment.generation = text.substr(first + 1, second - first - 1);
  assignment.host = text.substr(second + 1);
  return assignment;
}

std::vector<Assignment> read_all(const rmgr::Kv& kv) {
  std::vector<Assignment> all;
  for (const std::string& name : kv.list(prefix)) {
    const auto text = kv.get(name);
    if (text) all.push_back(parse(name, *text));
  }
  return all;
}

bool uses(const std::vector<Assignment>& all, std::uint32_t uid) {
  return std::any_of(all.begin(), all.end(), [uid](const Assignment& each) { return each.uid == uid; });
}

}  // namespace

Account Ledger::assign(const std::vector<Account>& pool, const Assignment& wanted) {
  const std::lock_guard lock(mutex_);
  const std::vector<Assignment>& all = known();
  const auto mine = std::find_if(all.begin(), all.end(),
                                 [&](const Assignment& each) { return each.attempt == wanted.attempt; });
  if (mine != all.end()) {
    const auto account =
        std::find_if(pool.begin(), pool.end(), [&](const Account& each) { return each.uid == mine->uid; });
    if (account != pool.end()) return *account;
    throw rmgr::Error(rmgr::Status::invalid, "The attempt was given user " + std::to_string(mine->uid) +
                                                 ", which is no job account any more.");
  }
  const auto free =
      std::find_if(pool.begin(), pool.end(), [&](const Account& each) { return !uses(all, each.uid); });
  if (free == pool.end()) {
    throw rmgr::Error(rmgr::Status::retry,
                      "All " + std::to_string(pool.size()) +
                          " job accounts are in use; add accounts to run_as or allow fewer "
                          "runners.");
  }
  Assignment assignment = wanted;
  assignment.uid = free->uid;
  const Account chosen = *free;
  change([&] { kv_.put(key(chosen.uid), value(assignment)); });
  known_->push_back(assignment);
  return chosen;
}

std::optional<Assignment> Ledger::find(std::string_view attempt) const {
  for (const Assignment& each : all()) {
    if (each.attempt == attempt) return each;
  }
  return std::nullopt;
}

std::vector<Assignment> Ledger::all() const {
  const std::lock_guard lock(mutex_);
  return known();
}

// A change that failed may have been made all the same, so what is known is read anew after it.
void Ledger::change(const std::function<void()>& write) {
  try {
    write();
  } catch (...) {
    known_.reset();
    throw;
  }
}

const std::vector<Assignment>& Ledger::known() const {
  if (!known_) known_ = read_all(kv_);
  return *known_;
}

bool Ledger::has_free(const std::vector<Account>& pool) const {
  const std::vector<Assignment> used = all();
  return std::any_of(pool.begin(), pool.end(), [&](const Account& each) { return !uses(used, each.uid); });
}

void Ledger::release(const Assignment& assignment) {
  const std::lock_guard lock(mutex_);
  const auto mine = std::find_if(known().begin(), known().end(), [&](const Assignment& each) {
    return each.uid == assignment.uid && each.attempt == assignment.attempt;
  });
  if (mine == known().end()) return;
  change([&] { kv_.remove(key(assignment.uid)); });
  known_->erase(mine);
}

}  // namespace native
