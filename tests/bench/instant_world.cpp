#include "bench/instant_world.hpp"

#include <algorithm>

#include "domain/state.hpp"

namespace bench {

namespace event = agent::lifecycle::event;
using domain::EffectKind;

domain::Instant InstantWorld::now() {
  return {.wall_ms = clock_ms_, .boot_ms = clock_ms_, .boot_id = domain::BootId("boot")};
}

std::string InstantWorld::hex(std::size_t digits) {
  std::string text;
  while (text.size() < digits)
    text.push_back("0123456789abcdef"[random_() % 16]);
  return text;
}

domain::AttemptId InstantWorld::mint_attempt() {
  return domain::AttemptId(hex(8) + "-" + hex(4) + "-4" + hex(3) + "-8" + hex(3) + "-" + hex(12));
}

domain::Generation InstantWorld::mint_generation() { return domain::Generation(hex(32)); }

void InstantWorld::adopt(const std::vector<domain::Attempt>& attempts) {
  for (const domain::Attempt& attempt : attempts) {
    if (attempt.runner && domain::is_live(attempt.state))
      runners_[attempt.id] = {.id = *attempt.runner, .order = next_order_++};
  }
}

void InstantWorld::end_oldest_job() {
  const auto oldest = std::min_element(runners_.begin(), runners_.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second.ended, a.second.order) < std::pair(b.second.ended, b.second.order);
  });
  if (oldest != runners_.end()) oldest->second.ended = true;
}

void InstantWorld::settle() {
  const auto due = [this] {
    const auto at = engine_->next_wakeup();
    return at && domain::reached(*at, now());
  };
  do {
    std::deque<std::function<void()>> answers;
    answers.swap(answers_);
    for (const auto& answer : answers)
      answer();
    engine_->turn();
  } while (!answers_.empty() || due());
}

void InstantWorld::perform(const reconcile::Effect& effect) {
  agent::lifecycle::Event answer{.attempt = effect.attempt->id, .seq = effect.seq, .body = carry_out(effect)};
  answers_.emplace_back([this, answer = std::move(answer)] { engine_->on_event(answer); });
}

agent::lifecycle::EventBody InstantWorld::carry_out(const reconcile::Effect& effect) {
  const domain::AttemptId& id = effect.attempt->id;
  switch (effect.kind) {
    case EffectKind::acquire_package:
      return event::Acquired{.digest = domain::PackageDigest(std::string(64, 'd')), .downloaded = false};
    case EffectKind::materialize: return event::Materialized{};
    case EffectKind::prepare: return event::Prepared{};
    case EffectKind::register_runner: {
      const domain::RunnerId runner(static_cast<std::int64_t>(random_() >> 2U));
      runners_[id] = {.id = runner, .order = next_order_++};
      return event::Registered{.runner = runner};
    }
    case EffectKind::spawn_held:
      return event::Held{.process = {.pid = 1000 + next_process_++,
                                     .start_token = next_order_,
                                     .boot_id = domain::BootId("boot")}};
    case EffectKind::release: return event::Started{};
    case EffectKind::stop: return event::Stopped{};
    case EffectKind::destroy: return event::Destroyed{};
    case EffectKind::deregister: runners_.erase(id); return event::Deregistered{};
    case EffectKind::scrub: runners_.erase(id); return event::Scrubbed{};
  }
  return event::Failed{};
}

void InstantWorld::look(const reconcile::AttemptPointer& attempt, std::uint64_t pass) {
  reconcile::Look look;
  look.attempt = attempt->id;
  look.pass = pass;
  const auto runner = runners_.find(attempt->id);
  if (runner == runners_.end() || !attempt->process) {
    look.environment = domain::EnvironmentView::missing;
  } else if (runner->second.ended) {
    look.environment = domain::EnvironmentView::exited;
    look.clean = true;
    look.exit_code = 0;
    look.evidence = domain::Evidence::ran;
  } else {
    look.environment = domain::EnvironmentView::running;
    look.evidence = domain::Evidence::ran;
  }
  answers_.emplace_back([this, look] { engine_->on_look(look); });
}

void InstantWorld::list_inventory(const reconcile::TargetKey& target, std::uint64_t pass) {
  reconcile::Inventory inventory;
  inventory.target = target;
  inventory.pass = pass;
  for (const auto& [id, runner] : runners_) {
    if (runner.ended) continue;  // an ephemeral registration goes with its job
    inventory.runners.push_back(
        {.id = runner.id, .name = domain::runner_name(id), .online = true, .busy = true});
  }
  answers_.emplace_back([this, inventory = std::move(inventory)] { engine_->on_inventory(inventory); });
}

void InstantWorld::ask_demand(const reconcile::TargetKey& target, std::uint64_t pass) {
  reconcile::DemandAnswer demand;
  demand.target = target;
  demand.pass = pass;
  for (int index = 0; index < queued_; ++index) {
    domain::Job job;
    job.id = domain::JobId(index + 1);
    job.repository = target.target.str();
    job.queued = true;
    job.labels = {"self-hosted"};
    demand.jobs.push_back(std::move(job));
  }
  answers_.emplace_back([this, demand = std::move(demand)] { engine_->on_demand(demand); });
}

void InstantWorld::probe(const domain::Policy& policy) {
  reconcile::ReadinessAnswer ready;
  ready.policy = policy.name;
  answers_.emplace_back([this, ready = std::move(ready)] { engine_->on_readiness(ready); });
}

void InstantWorld::sweep(const std::vector<reconcile::AttemptPointer>& attempts) {
  std::vector<reconcile::ResidueSeen> seen;
  for (const reconcile::AttemptPointer& attempt : attempts)
    seen.push_back({.attempt = attempt->id, .found = false, .removed = false});
  answers_.emplace_back([this, seen = std::move(seen)] { engine_->on_residue(seen); });
}

}  // namespace bench
