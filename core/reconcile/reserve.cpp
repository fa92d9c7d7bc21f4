// The room that the state directory must have before anything new is started: what was kept for a full disk
// is in its place, so that what is started then can still be ended.
#include "reconcile/engine.hpp"

namespace agent::reconcile {

using domain::JournalState;
using domain::Millis;
using lifecycle::event::Failed;
using observe::Field;
using observe::Level;

namespace {

constexpr Millis kReserveRetry{10'000};

}  // namespace

void Engine::on_reserve(ReserveAnswer answer) { inputs_.emplace_back(std::move(answer)); }

void Engine::disk_is_full(const std::string& why) {
  world_.release_reserve();
  if (!reserve_missing_) {
    log_.write(Level::error, observe::Event::reserve_released, {{Field::message, why}});
  }
  reserve_missing_ = why;
  restore_reserve_at_ = domain::after(world_.now(), kReserveRetry);
}

// The journal writes into room that it has, so the first to meet a full disk may be the record of an attempt
// that is cleaned.
void Engine::note_full(const lifecycle::Event& event) {
  const auto* failed = std::get_if<Failed>(&event.body);
  if (failed == nullptr || failed->code != domain::ErrorCode::full || !failed->of_state) return;
  disk_is_full("An attempt could not be cleaned because the disk is full. Free space on it.");
}

void Engine::take_reserve(const ReserveAnswer& answer) {
  restoring_reserve_ = false;
  // Asked for again before it was answered: the disk was full meanwhile, and what was put back is given up
  // too.
  const bool outdated = restore_reserve_at_.has_value();
  if (outdated) world_.release_reserve();
  if (outdated || !answer.held) {
    if (!outdated) reserve_missing_ = answer.message;
    restore_reserve_at_ = domain::after(world_.now(), kReserveRetry);
    return;
  }
  if (!reserve_missing_) return;
  reserve_missing_.reset();
  log_.write(Level::info, observe::Event::reserve_restored, {});
  for (const auto& [key, target] : targets_)
    poll_now(key);
}

// Not while the journal itself asks for room.
void Engine::restore_reserve_due() {
  if (!restore_reserve_at_ || restoring_reserve_ || journal_error_) return;
  if (!domain::reached(*restore_reserve_at_, world_.now())) return;
  restore_reserve_at_.reset();
  restoring_reserve_ = true;
  world_.restore_reserve();
}

JournalView Engine::journal() const {
  if (journal_error_)
    return {.state = domain::journal_state(journal_error_->code), .message = journal_error_->message};
  if (reserve_missing_) return {.state = JournalState::full, .message = *reserve_missing_};
  for (const auto& [id, live] : live_) {
    if (live.refused) return {.state = JournalState::failing, .message = live.refused->why};
  }
  return {};
}

}  // namespace agent::reconcile
