// Whether a policy can start anything: its provider answers, its root is usable, and which of its slots are
// not.
#include <map>

#include "daemon/daemon_world.hpp"
#include "workspace/slot.hpp"

namespace agent::daemon {

using domain::LimitingFactor;
using domain::Millis;
using domain::Result;
using plugin::Call;
using plugin::Lane;

namespace {

constexpr Millis kProbeDeadline{10'000};
// An image may have to be fetched, and is gigabytes.
constexpr Millis kResolveDeadline{20 * 60'000};

LimitingFactor blocked_by(plugin::Readiness readiness) {
  return readiness == plugin::Readiness::ready ? LimitingFactor::none : LimitingFactor::provider_not_ready;
}

// A runner that waits for hours must not hold a package that is old when its job comes.
void refuse_warm(const plugin::ExecutionProvider& provider, const domain::Policy& policy,
                 reconcile::ReadinessAnswer& answer) {
  const bool can = provider.warms() && answer.package_inside;
  if (policy.warm == 0 || can || answer.blocked != LimitingFactor::none) return;
  answer.blocked = LimitingFactor::provider_not_ready;
  answer.remedy = provider.warms()
                      ? "warm runners need the runner package in the image; say where it is in the "
                        "provider's configuration (runner_path), or remove warm from the policy"
                      : "execution provider '" + policy.provider.str() +
                            "' cannot keep runners warm; remove warm from the policy";
}

// What an attempt needs to find where it will work.
struct Ground {
  workspace::Preflight root;
  std::map<std::int64_t, domain::SlotRefusal> refused_slots;
};

// A slot that could not be looked at for a passing reason is left to the launch.
std::map<std::int64_t, domain::SlotRefusal> refused_slots(const domain::Policy& policy, Call& call) {
  std::map<std::int64_t, domain::SlotRefusal> refused;
  if (!domain::uses_slots(policy)) return refused;
  for (std::int64_t slot = 1; slot <= policy.max && !call.cancelled(); ++slot) {
    const auto failure =
        workspace::look_at_slot({.root = policy.root, .name = domain::slot_directory_name(slot)});
    if (failure && failure->refusal) refused.emplace(slot, *failure->refusal);
  }
  return refused;
}

}  // namespace

void DaemonWorld::probe(const domain::Policy& policy) {
  reconcile::ReadinessAnswer base;
  base.policy = policy.name;
  plugin::ExecutionProvider* provider = plugins_.provider(policy.provider);
  Lane* lane = plugins_.ordinary_lane(policy.provider);
  if (provider == nullptr || lane == nullptr) {
    base.blocked = LimitingFactor::provider_not_ready;
    base.remedy =
        "execution provider '" + policy.provider.str() + "' is not ready; see its line in this status";
    post_([this, base] { engine_->on_readiness(base); });
    return;
  }
  Lane& files = *root_lanes(policy.root).looking;
  lane->submit<plugin::Probe>(
      "probe", kProbeDeadline, [provider, policy](Call& call) { return provider->probe(call, policy); },
      [this, base, policy, provider, others = other_roots(policy), &files](Result<plugin::Probe> probe) {
        reconcile::ReadinessAnswer answer = base;
        answer.blocked = probe ? blocked_by(probe->readiness) : LimitingFactor::provider_not_ready;
        answer.remedy = probe ? probe->remedy : probe.error().message;
        if (probe) answer.note = probe->note;
        answer.package_inside = probe && probe->package_inside;
        refuse_warm(*provider, policy, answer);
        if (answer.blocked == LimitingFactor::none &&
            policy.provider_kind == domain::ProviderKind::isolated) {
          post_([this, policy, others, answer, &files] { resolve_image(files, policy, others, answer); });
          return;
        }
        check_root(files, policy, others, answer);
      });
}

void DaemonWorld::resolve_image(Lane& files, const domain::Policy& policy,
                                const std::vector<workspace::OtherRoot>& others,
                                const reconcile::ReadinessAnswer& answer) {
  plugin::ExecutionProvider* provider = plugins_.provider(policy.provider);
  Lane* lane = plugins_.ordinary_lane(policy.provider);
  if (provider == nullptr || lane == nullptr) {
    check_root(files, policy, others, answer);
    return;
  }
  list_sandboxes(policy.provider);
  lane->submit<std::string>(
      "resolve", kResolveDeadline, [provider, policy](Call& call) { return provider->resolve(call, policy); },
      [this, policy, others, answer, &files](Result<std::string> image) {
        reconcile::ReadinessAnswer done = answer;
        if (image) {
          done.image = std::move(*image);
        } else {
          done.blocked = LimitingFactor::provider_not_ready;
          done.remedy = image.error().message;
        }
        check_root(files, policy, others, done);
      });
}

// Discovery alone: what is found without an attempt is shown.
void DaemonWorld::list_sandboxes(const domain::InstanceName& name) {
  plugin::ExecutionProvider* provider = plugins_.provider(name);
  Lane* lane = plugins_.control_lane(name);
  if (provider == nullptr || lane == nullptr) return;
  using Found = std::vector<plugin::OwnedEnvironment>;
  lane->submit<Found>(
      "sandboxes", kProbeDeadline,
      [provider, host = options_.installation](Call& call) { return provider->enumerate_owned(call, host); },
      [this, name](Result<Found> found) {
        if (!found) return;  // a list that is not whole says nothing
        std::vector<reconcile::ListedSandbox> all;
        for (plugin::OwnedEnvironment& one : *found)
          all.push_back({std::move(one.attempt), std::move(one.generation), one.environment.str()});
        post_([this, name, all = std::move(all)] { engine_->on_sandboxes(name, all); });
      });
}

std::vector<workspace::OtherRoot> DaemonWorld::other_roots(const domain::Policy& policy) const {
  const bool keeps = policy.workspace == domain::WorkspaceKind::persistent;
  std::map<std::string, bool> roots;  // and whether it may be the same one
  for (const reconcile::RootView& other : engine_->roots()) {
    if (other.policy == policy.name) continue;
    bool& same = roots.try_emplace(other.root, true).first->second;
    same = same && other.shared && !keeps;
  }
  std::vector<workspace::OtherRoot> others;
  for (auto& [root, same] : roots)
    others.push_back({.root = root, .may_be_the_same = same});
  return others;
}

void DaemonWorld::check_root(Lane& lane, const domain::Policy& policy,
                             const std::vector<workspace::OtherRoot>& others,
                             const reconcile::ReadinessAnswer& answer) {
  const auto finish = [this](reconcile::ReadinessAnswer done) {
    post_([this, done = std::move(done)]() mutable { engine_->on_readiness(std::move(done)); });
  };
  if (answer.blocked != LimitingFactor::none) {
    finish(answer);
    return;
  }
  lane.submit<Ground>(
      "root", kProbeDeadline,
      [this, policy, others](Call& call) -> Result<Ground> {
        Ground ground;
        ground.root =
            workspace::prepare_root(policy.root, options_.own_directories, others, options_.installation);
        if (ground.root.ready) ground.refused_slots = refused_slots(policy, call);
        return ground;
      },
      [finish, answer](Result<Ground> ground) {
        reconcile::ReadinessAnswer done = answer;
        if (ground && ground->root.ready) {
          done.refused_slots = ground->refused_slots;
          finish(std::move(done));
          return;
        }
        done.blocked = LimitingFactor::root_refused;
        done.remedy = ground ? ground->root.remedy : ground.error().message;
        auto refusal = workspace::RootRefusal::not_inspectable;
        if (ground && ground->root.refusal) refusal = *ground->root.refusal;
        done.root_refusal = workspace::to_string(refusal);
        finish(std::move(done));
      });
}

}  // namespace agent::daemon
