#include "daemon/daemon_world.hpp"

#include <algorithm>
#include <thread>

#include "daemon/entropy.hpp"
#include "journal/journal.hpp"

namespace agent::daemon {

using domain::EffectKind;
using domain::Millis;
using domain::Result;
using lifecycle::Performed;
using observe::Field;
using observe::Level;
using plugin::Call;
using plugin::Lane;

namespace {

constexpr Millis kPackageDeadline{30 * 60'000};
constexpr Millis kCopyDeadline{10 * 60'000};
constexpr Millis kScrubDeadline{10 * 60'000};
constexpr Millis kPrepareDeadline{2 * 60'000};
constexpr Millis kSpawnDeadline{45'000};
constexpr Millis kEndMargin{30'000};
constexpr Millis kGatewayDeadline{60'000};
constexpr Millis kLookDeadline{10'000};
constexpr Millis kEvidenceDeadline{2'000};

std::unique_ptr<Lane> make_lane(const std::string& name, std::size_t threads, Millis queue_deadline) {
  plugin::LaneOptions options;
  options.name = name;
  options.threads = threads;
  options.queue_deadline = queue_deadline;
  return std::make_unique<Lane>(options);
}

// Copies compete for the same disk, so only a quarter of the cores may copy at once, but never fewer than
// two.
std::size_t copy_turns() { return std::max<std::size_t>(2, std::thread::hardware_concurrency() / 4); }

reconcile::GatewayFailure failure_of(const domain::Error& error) {
  return {.code = error.code, .retry_after = error.retry_after, .message = error.message};
}

domain::Error gateway_not_ready(const domain::InstanceName& name) {
  return {.code = domain::ErrorCode::unreachable,
          .message = "gateway '" + name.str() + "' is not ready; see `runner-manager status` for the reason",
          .retry_after = Millis{0}};
}

}  // namespace

DaemonWorld::DaemonWorld(WorldOptions options, lifecycle::Performer& performer, lifecycle::Vault& vault,
                         package::Cache& cache, plugin::PluginHost& plugins, observe::Log& log,
                         std::function<void(std::function<void()>)> post)
    : options_(std::move(options)),
      performer_(performer),
      vault_(vault),
      cache_(cache),
      plugins_(plugins),
      log_(log),
      post_(std::move(post)),
      turns_(make_lane("turns", copy_turns(), kPackageDeadline)),
      pruning_(make_lane("pruning", 1, kScrubDeadline)) {}

std::vector<Lane*> DaemonWorld::lanes() {
  std::vector<Lane*> all{turns_.get(), pruning_.get()};
  for (auto& [name, lane] : package_lanes_)
    all.push_back(lane.get());
  for (auto& [root, of_root] : root_lanes_) {
    all.push_back(of_root.looking.get());
    all.push_back(of_root.cleaning.get());
  }
  return all;
}

void DaemonWorld::close_lanes() {
  for (Lane* lane : lanes())
    lane->close();
}

bool DaemonWorld::finish_lanes() {
  close_lanes();
  bool all_back = true;
  for (Lane* lane : lanes())
    all_back = lane->finish() && all_back;
  return all_back;
}

domain::Instant DaemonWorld::now() { return instant_now(options_.boot); }
domain::AttemptId DaemonWorld::mint_attempt() { return domain::AttemptId(random_uuid()); }
domain::Generation DaemonWorld::mint_generation() { return domain::Generation(random_hex(32)); }
double DaemonWorld::jitter() { return random_unit(); }

Lane* DaemonWorld::package_lane(const domain::InstanceName& source) {
  auto& lane = package_lanes_[source];
  if (!lane) lane = make_lane("packages:" + source.str(), 4, kPackageDeadline);
  return lane.get();
}

DaemonWorld::RootLanes& DaemonWorld::root_lanes(const std::string& root) {
  auto [entry, added] = root_lanes_.try_emplace(root);
  if (added) {
    entry->second.looking = make_lane("looking:" + root, 1, kLookDeadline);
    entry->second.cleaning = make_lane("cleaning:" + root, 2, kScrubDeadline);
  }
  return entry->second;
}

DaemonWorld::Route DaemonWorld::route(const reconcile::Effect& effect) {
  const domain::Policy& policy = effect.attempt->policy;
  switch (effect.kind) {
    case EffectKind::acquire_package: return {package_lane(policy.package_source), kPackageDeadline};
    case EffectKind::materialize: return {turns_.get(), kCopyDeadline};
    case EffectKind::prepare: {
      // Into a sandbox the package is copied, and its image may have to be fetched again.
      const bool isolated = policy.provider_kind == domain::ProviderKind::isolated;
      return {plugins_.ordinary_lane(policy.provider), isolated ? kCopyDeadline : kPrepareDeadline};
    }
    case EffectKind::register_runner:
      return {plugins_.ordinary_lane(policy.gateway), lifecycle::kRegistrationDeadline};
    case EffectKind::spawn_held:
    case EffectKind::release: return {plugins_.ordinary_lane(policy.provider), kSpawnDeadline};
    case EffectKind::stop:
    case EffectKind::destroy:
      return {plugins_.control_lane(policy.provider), policy.timeouts.stop_grace + kEndMargin};
    case EffectKind::deregister: return {plugins_.control_lane(policy.gateway), kGatewayDeadline};
    case EffectKind::scrub: return {root_lanes(policy.root).cleaning.get(), kScrubDeadline};
  }
  return {};
}

namespace {

Performed perform_on(lifecycle::Performer& performer, Call& call, const reconcile::Effect& effect) {
  const domain::Attempt& attempt = *effect.attempt;
  switch (effect.kind) {
    case EffectKind::acquire_package: return performer.acquire_package(call, attempt);
    case EffectKind::materialize: return performer.materialize(call, attempt);
    case EffectKind::prepare: return performer.prepare(call, attempt);
    case EffectKind::register_runner: return performer.register_runner(call, attempt);
    case EffectKind::spawn_held: return performer.spawn_held(call, attempt);
    case EffectKind::release: return performer.release(call, attempt);
    case EffectKind::stop: return performer.stop(call, attempt);
    case EffectKind::destroy: return performer.destroy(call, attempt);
    case EffectKind::deregister: return performer.deregister(call, attempt);
    case EffectKind::scrub: return performer.scrub(call, attempt, effect.configured.get());
  }
  return {lifecycle::event::Failed{}, "unknown effect", {}};
}

}  // namespace

void DaemonWorld::perform(const reconcile::Effect& effect) {
  const Route way = route(effect);
  if (way.lane == nullptr) {
    answer(effect,
           {lifecycle::event::Failed{
                .code = domain::ErrorCode::unreachable, .retry_after = Millis{0}, .process_existed = false},
            "the plugin instance for this step is not ready; see `runner-manager status` for the reason",
            {}});
    return;
  }
  way.lane->submit<Performed>(
      effect.attempt->id.str().substr(0, 8), way.deadline,
      [this, effect](Call& call) -> Result<Performed> { return perform_on(performer_, call, effect); },
      [this, effect](Result<Performed> performed) {
        if (performed) {
          answer(effect, std::move(*performed));
          return;
        }
        // The call never came back in time or never ran. A release may have happened all the same.
        const domain::Error& error = performed.error();
        answer(effect, {lifecycle::event::Failed{.code = error.code,
                                                 .retry_after = error.retry_after,
                                                 .process_existed = effect.kind == EffectKind::release},
                        error.message,
                        {}});
      });
}

void DaemonWorld::answer(const reconcile::Effect& effect, Performed performed) {
  if (const auto* failure = std::get_if<lifecycle::event::Failed>(&performed.body)) {
    log_.write(Level::warning, observe::Event::effect_failed,
               {{Field::attempt, effect.attempt->id.str()},
                {Field::effect, std::string(domain::to_string(effect.kind))},
                {Field::error_code, std::string(domain::to_string(failure->code))},
                {Field::message, performed.message}});
  }
  const auto* acquired = std::get_if<lifecycle::event::Acquired>(&performed.body);
  if (acquired != nullptr && acquired->downloaded) {
    log_.write(Level::info, observe::Event::package_installed,
               {{Field::instance, effect.attempt->policy.package_source.str()},
                {Field::digest, acquired->digest.str()}});
  }
  lifecycle::Event event{.attempt = effect.attempt->id, .seq = effect.seq, .body = std::move(performed.body)};
  // Only an answer that is delivered puts its secret into the vault; any other one takes it along.
  post_([this, event = std::move(event), secret = std::move(performed.secret)]() mutable {
    if (secret) vault_.put(event.attempt, std::move(secret));
    engine_->on_event(std::move(event));
  });
}

void DaemonWorld::look(const reconcile::AttemptPointer& attempt, std::uint64_t pass) {
  reconcile::Look unknown;
  unknown.attempt = attempt->id;
  unknown.pass = pass;
  Lane* lane = plugins_.control_lane(attempt->policy.provider);
  if (lane == nullptr) {
    post_([this, unknown] { engine_->on_look(unknown); });
    return;
  }
  Lane& files = *root_lanes(attempt->policy.root).looking;
  lane->submit<lifecycle::EnvironmentLook>(
      attempt->id.str().substr(0, 8), kLookDeadline,
      [this, attempt](Call& call) -> Result<lifecycle::EnvironmentLook> {
        return performer_.look(call, *attempt);
      },
      [this, attempt, unknown, &files](Result<lifecycle::EnvironmentLook> seen) {
        reconcile::Look look = unknown;
        if (seen) {
          look.environment = seen->view;
          look.clean = seen->clean;
          look.exit_code = seen->exit_code;
          look.out_of_memory = seen->out_of_memory;
        }
        if (seen && seen->evidence) {
          look.evidence = *seen->evidence;
          post_([this, look] { engine_->on_look(look); });
          return;
        }
        read_evidence(files, attempt, look);
      });
}

reconcile::Look complete(reconcile::Look look, const Result<domain::Evidence>& evidence) {
  if (evidence) {
    look.evidence = *evidence;
    return look;
  }
  reconcile::Look unknown;
  unknown.attempt = look.attempt;
  unknown.pass = look.pass;
  return unknown;
}

void DaemonWorld::read_evidence(Lane& lane, const reconcile::AttemptPointer& attempt, reconcile::Look look) {
  lane.submit<domain::Evidence>(
      attempt->id.str().substr(0, 8), kEvidenceDeadline,
      [runtime = attempt->runtime](Call&) { return workspace::read_evidence(runtime); },
      [this, look](const Result<domain::Evidence>& evidence) {
        post_([this, done = complete(look, evidence)] { engine_->on_look(done); });
      });
}

void DaemonWorld::list_inventory(const reconcile::TargetKey& target, std::uint64_t pass) {
  reconcile::Inventory base;
  base.target = target;
  base.pass = pass;
  plugin::Gateway* gateway = plugins_.gateway(target.gateway);
  Lane* lane = plugins_.ordinary_lane(target.gateway);
  if (gateway == nullptr || lane == nullptr) {
    base.failure = failure_of(gateway_not_ready(target.gateway));
    post_([this, base] { engine_->on_inventory(base); });
    return;
  }
  using Runners = std::vector<plugin::Runner>;
  lane->submit<Runners>(
      "inventory", kGatewayDeadline,
      [gateway, target](Call& call) { return gateway->inventory(call, target.target); },
      [this, base](Result<Runners> listed) {
        reconcile::Inventory answer = base;
        if (!listed) answer.failure = failure_of(listed.error());
        if (listed) {
          for (plugin::Runner& runner : *listed) {
            answer.runners.push_back({.id = runner.id,
                                      .name = std::move(runner.name),
                                      .online = runner.online,
                                      .busy = runner.busy});
          }
        }
        post_([this, answer = std::move(answer)]() mutable { engine_->on_inventory(std::move(answer)); });
      });
}

void DaemonWorld::ask_demand(const reconcile::TargetKey& target, std::uint64_t pass) {
  reconcile::DemandAnswer base;
  base.target = target;
  base.pass = pass;
  plugin::Gateway* gateway = plugins_.gateway(target.gateway);
  Lane* lane = plugins_.ordinary_lane(target.gateway);
  if (gateway == nullptr || lane == nullptr) {
    base.failure = failure_of(gateway_not_ready(target.gateway));
    post_([this, base] { engine_->on_demand(base); });
    return;
  }
  lane->submit<plugin::Demand>(
      "demand", kGatewayDeadline,
      [gateway, target](Call& call) { return gateway->demand(call, target.target); },
      [this, base](Result<plugin::Demand> demand) {
        reconcile::DemandAnswer answer = base;
        if (!demand) answer.failure = failure_of(demand.error());
        if (demand) {
          answer.jobs = std::move(demand->jobs);
          answer.quota_left_percent = demand->quota_left_percent;
        }
        post_([this, answer = std::move(answer)]() mutable { engine_->on_demand(std::move(answer)); });
      });
}

// One question for each root, so that a volume that hangs keeps only its own.
void DaemonWorld::sweep(const std::vector<reconcile::AttemptPointer>& attempts) {
  std::map<std::string, std::vector<reconcile::AttemptPointer>> by_root;
  for (const auto& attempt : attempts)
    by_root[attempt->policy.root].push_back(attempt);
  for (auto& [root, theirs] : by_root) {
    root_lanes(root).cleaning->submit<std::vector<reconcile::ResidueSeen>>(
        "residue", kScrubDeadline,
        [this, theirs](Call& call) -> Result<std::vector<reconcile::ResidueSeen>> {
          std::vector<reconcile::ResidueSeen> seen;
          for (const auto& attempt : theirs) {
            const auto swept = performer_.sweep(call, *attempt);
            seen.push_back({.attempt = attempt->id, .found = swept.found, .removed = swept.removed});
          }
          return seen;
        },
        [this](Result<std::vector<reconcile::ResidueSeen>> seen) {
          if (!seen) return;  // the engine asks again
          post_([this, seen = std::move(*seen)]() mutable { engine_->on_residue(std::move(seen)); });
        });
  }
}

void DaemonWorld::drop_secret(const domain::AttemptId& attempt) { vault_.drop(attempt); }

void DaemonWorld::prune_packages(const std::set<domain::PackageDigest>& leased) {
  pruning_->submit<std::int64_t>(
      "prune", kScrubDeadline,
      [this, leased](Call& call) { return cache_.prune(leased, [&call] { return call.cancelled(); }); },
      [this](Result<std::int64_t> pruned) {
        if (pruned && *pruned == 0) return;
        if (pruned) {
          log_.write(Level::info, observe::Event::package_pruned, {{Field::count, *pruned}});
        } else if (pruned.error().code != domain::ErrorCode::busy) {
          log_.write(Level::warning, observe::Event::package_pruned,
                     {{Field::message, pruned.error().message}});
        }
      });
}

void DaemonWorld::release_reserve() {
  if (auto released = journal::give_up_reserve(options_.state_directory); !released) {
    log_.write(Level::error, observe::Event::journal_failed, {{Field::message, released.error().message}});
  }
}

void DaemonWorld::restore_reserve() {
  pruning_->submit<std::monostate>(
      "reserve", kScrubDeadline,
      [this](Call&) -> Result<std::monostate> {
        if (auto restored = journal::restore_reserve(options_.state_directory); !restored)
          return restored.error();
        return std::monostate{};
      },
      [this](const Result<std::monostate>& restored) {
        reconcile::ReserveAnswer answer;
        if (!restored) answer = {.held = false, .message = restored.error().message};
        post_([this, answer] { engine_->on_reserve(answer); });
      });
}

}  // namespace agent::daemon
