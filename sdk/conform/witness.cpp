#include "conform/witness.hpp"

#include <algorithm>

namespace rmgr::conform {
namespace {

constexpr std::size_t most_notes = 10'000;

}  // namespace

Witness& witness() {
  static auto& one = *new Witness;  // outlives every thread of a plugin
  return one;
}

void Witness::note(Breach breach, const std::string& where) {
  const std::lock_guard lock(mutex_);
  if (notes_.size() < most_notes) notes_.push_back({breach, where});
}

std::string Witness::first(Breach breach) const {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(notes_.begin(), notes_.end(), [&](const Note& one) { return one.breach == breach; });
  return found == notes_.end() ? std::string() : found->where;
}

void Witness::heard(std::string_view text, std::string_view where) {
  const std::lock_guard lock(mutex_);
  if (heard_.size() < most_notes) heard_.push_back({std::string(text), std::string(where)});
}

std::string Witness::who_said(std::string_view needle) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(heard_.begin(), heard_.end(), [&](const Heard& one) {
    return one.text.find(needle) != std::string::npos;
  });
  return found == heard_.end() ? std::string() : found->where;
}

void Witness::keep(std::shared_ptr<void> object) {
  const std::lock_guard lock(mutex_);
  kept_.push_back(std::move(object));
}

}  // namespace rmgr::conform
