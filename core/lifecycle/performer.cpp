#include "lifecycle/performer.hpp"

#include "crash_point.hpp"
#include "lifecycle/sandbox.hpp"
#include "workspace/slot.hpp"
#include "workspace/workspace.hpp"

namespace agent::lifecycle {

using domain::Attempt;
using domain::ErrorCode;
using domain::Result;
using plugin::Call;

Performed failed(const domain::Error& error, bool process_existed) {
  return {
      event::Failed{.code = error.code, .retry_after = error.retry_after, .process_existed = process_existed},
      error.message,
      {}};
}

namespace {

// A plugin that is not there now may be there later, so what it would have answered is unknown.
domain::Error not_loaded(const char* what, const domain::InstanceName& name) {
  return {.code = ErrorCode::unreachable,
          .message = std::string(what) + " '" + name.str() +
                     "' is not ready; see `runner-manager status` for the reason",
          .retry_after = domain::Millis{0}};
}

// A package source as the cache wants it.
class SourceAdapter final : public package::Source {
 public:
  SourceAdapter(plugin::PackageSource& source, Call& call) : source_(source), call_(call) {}

  Result<std::vector<package::Offer>> catalog(const package::Query& query) override {
    auto offers = source_.catalog(call_, query.target, query.os, query.architecture);
    if (!offers) return offers.error();
    std::vector<package::Offer> answer;
    for (plugin::PackageOffer& offer : *offers) {
      answer.push_back({.version = std::move(offer.version),
                        .filename = std::move(offer.filename),
                        .sha256 = std::move(offer.sha256),
                        .size = offer.size,
                        .ref = std::move(offer.ref)});
    }
    return answer;
  }

  Result<void> fetch(std::string_view ref, std::int64_t offset, std::string_view validator,
                     Receiver& receiver) override {
    const plugin::PackageSource::Receiver sink{
        .begin = [&receiver](std::int64_t total, std::string_view seen,
                             bool restarted) { return receiver.begin(total, seen, restarted); },
        .chunk = [&receiver](std::string_view bytes) { return receiver.chunk(bytes); }};
    return source_.fetch(call_, ref, offset, validator, sink);
  }

 private:
  plugin::PackageSource& source_;
  Call& call_;
};

}  // namespace

std::string runtime_name(const Attempt& attempt) {
  return attempt.runtime.substr(attempt.policy.root.size() + 1);
}

plugin::ExecutionProvider* Performer::provider_of(const Attempt& attempt) {
  return world_.plugins->provider(attempt.policy.provider);
}

plugin::Gateway* Performer::gateway_of(const Attempt& attempt) {
  return world_.plugins->gateway(attempt.policy.gateway);
}

plugin::Allocation Performer::allocation_of(const Attempt& attempt) const {
  return {.attempt = &attempt, .host = world_.host, .package = attempt.runtime};
}

Performed Performer::acquire_package(Call& call, const Attempt& attempt) {
  plugin::PackageSource* source = world_.plugins->package_source(attempt.policy.package_source);
  if (source == nullptr) return failed(not_loaded("package source", attempt.policy.package_source));
  SourceAdapter adapter(*source, call);
  const package::Query query{.target = attempt.policy.target.str(),
                             .os = world_.os,
                             .architecture = world_.architecture,
                             .source = attempt.policy.package_source.str()};
  RMGR_CRASH_POINT("effect.acquire.before");
  auto installed = world_.cache->acquire(adapter, query, [&call] { return call.cancelled(); });
  RMGR_CRASH_POINT("effect.acquire.after");
  if (!installed) return failed(installed.error());
  return {event::Acquired{.digest = installed->digest, .downloaded = installed->downloaded}, {}, {}};
}

namespace {

workspace::Slot slot_of(const Attempt& attempt) {
  return {.root = attempt.policy.root, .name = domain::slot_directory_name(*attempt.slot)};
}

workspace::RemovalOptions until_cancelled(Call& call) {
  workspace::RemovalOptions options;
  options.cancelled = [&call] { return call.cancelled(); };
  return options;
}

Performed slot_failed(const workspace::SlotFailure& failure) {
  return {event::Failed{.code = failure.error.code,
                        .retry_after = failure.error.retry_after,
                        .process_existed = false,
                        .slot = failure.refusal},
          failure.error.message,
          {}};
}

}  // namespace

// What a try of this attempt left in the slot that it had taken goes first. If that cannot be removed the
// slot is not refused for good: cleaning will say what is the matter, and keeps it.
Performed Performer::materialize_slot(Call& call, const Attempt& attempt) {
  if (const auto refusal = domain::check_slot(attempt, &attempt.policy))
    return slot_failed({*refusal, {ErrorCode::denied, std::string(domain::remedy(*refusal)), {}}});
  const workspace::Slot slot = slot_of(attempt);
  const auto taken = workspace::has_taken(slot, attempt.id);
  if (!taken) return failed(taken.error());
  if (*taken) {
    if (const auto failure = workspace::scrub_slot(slot, until_cancelled(call))) {
      return failed({ErrorCode::busy, failure->error.message, {}});
    }
  }
  RMGR_CRASH_POINT("effect.materialize.slot_free");
  if (const auto failure = workspace::take_slot(slot, attempt.id)) return slot_failed(*failure);
  const auto filled = workspace::fill_slot(slot, [&](const std::string& directory) -> Result<void> {
    auto copied =
        world_.cache->materialize(*attempt.package, directory, [&call] { return call.cancelled(); });
    if (!copied) return copied.error();
    return {};
  });
  RMGR_CRASH_POINT("effect.materialize.slot_filled");
  if (!filled) return failed(filled.error());
  return {event::Materialized{}, {}, {}};
}

// A try of this attempt that broke off leaves a directory that only this row may name, so it is removed and
// made anew.
Performed Performer::materialize(Call& call, const Attempt& attempt) {
  if (attempt.slot) return materialize_slot(call, attempt);
  const std::string& root = attempt.policy.root;
  const std::string name = runtime_name(attempt);
  if (attempt.launch_retry.tries > 0) {
    const auto removed = workspace::remove_runtime(root, name, [&call] { return call.cancelled(); });
    if (!removed) return failed(removed.error());
  }
  if (auto created = workspace::create_runtime(root, name); !created) return failed(created.error());
  RMGR_CRASH_POINT("effect.materialize.runtime_made");
  if (attempt.package_inside) return {event::Materialized{}, {}, {}};
  auto copied =
      world_.cache->materialize(*attempt.package, attempt.runtime, [&call] { return call.cancelled(); });
  RMGR_CRASH_POINT("effect.materialize.after");
  if (!copied) return failed(copied.error());
  return {event::Materialized{}, {}, {}};
}

Performed Performer::prepare(Call& call, const Attempt& attempt) {
  plugin::ExecutionProvider* provider = provider_of(attempt);
  if (provider == nullptr) return failed(not_loaded("execution provider", attempt.policy.provider));
  RMGR_CRASH_POINT("effect.prepare.before");
  auto prepared = provider->prepare(call, allocation_of(attempt));
  RMGR_CRASH_POINT("effect.prepare.after");
  if (!prepared) return failed(prepared.error());
  // What it names must say itself that it is this attempt's.
  const bool named = provider->isolated() && prepared->has_value();
  if (named && !provider->owns(call, allocation_of(attempt), **prepared)) {
    return failed({.code = ErrorCode::bad_response,
                   .message = "the provider prepared a sandbox that does not bear the attempt's identity",
                   .retry_after = domain::Millis{0}});
  }
  if (attempt.ahead) {
    Attempt named_attempt = attempt;
    named_attempt.environment = *prepared;
    auto warmed = provider->warm(call, allocation_of(named_attempt));
    if (!warmed) return failed(warmed.error());
  }
  return {event::Prepared{.environment = std::move(*prepared)}, {}, {}};
}

Performed Performer::register_runner(Call& call, const Attempt& attempt) {
  plugin::Gateway* gateway = gateway_of(attempt);
  if (gateway == nullptr) return failed(not_loaded("gateway", attempt.policy.gateway));
  const domain::Policy& policy = attempt.policy;
  RMGR_CRASH_POINT("effect.register.before");
  auto registration = gateway->register_runner(call, policy.target, domain::runner_name(attempt.id),
                                               policy.runner_group_id, policy.labels, "_work");
  RMGR_CRASH_POINT("effect.register.after");
  if (!registration) return failed(registration.error());
  return {event::Registered{.runner = registration->runner}, {}, seal(registration->jit_config)};
}

Performed Performer::spawn_held(Call& call, const Attempt& attempt) {
  plugin::ExecutionProvider* provider = provider_of(attempt);
  if (provider == nullptr) return failed(not_loaded("execution provider", attempt.policy.provider));
  RMGR_CRASH_POINT("effect.spawn_held.before");
  auto held = provider->hold(call, allocation_of(attempt));
  RMGR_CRASH_POINT("effect.spawn_held.after");
  if (!held) return failed(held.error());
  return {event::Held{.process = *held}, {}, {}};
}

Performed Performer::release(Call& call, const Attempt& attempt) {
  plugin::ExecutionProvider* provider = provider_of(attempt);
  if (provider == nullptr) return failed(not_loaded("execution provider", attempt.policy.provider));
  const OneTimeSecret secret = world_.vault->take(attempt.id);
  if (!secret) {
    return failed({.code = ErrorCode::internal,
                   .message = "the one-time registration of the attempt is not in memory any more",
                   .retry_after = domain::Millis{0}});
  }
  RMGR_CRASH_POINT("effect.release.secret_taken");
  auto failure = provider->start(call, allocation_of(attempt), *secret);
  RMGR_CRASH_POINT("effect.release.after");
  if (failure) return failed(failure->error, failure->process_existed);
  return {event::Started{}, {}, {}};
}

Performed Performer::stop(Call& call, const Attempt& attempt) {
  plugin::ExecutionProvider* provider = provider_of(attempt);
  if (provider == nullptr) return failed(not_loaded("execution provider", attempt.policy.provider));
  if (attempt.process || attempt.environment) {
    RMGR_CRASH_POINT("effect.stop.before");
    auto stopped = provider->stop(call, allocation_of(attempt), attempt.policy.timeouts.stop_grace);
    RMGR_CRASH_POINT("effect.stop.after");
    if (!stopped) return failed(stopped.error());
  }
  return {event::Stopped{}, {}, {}};
}

Performed Performer::destroy(Call& call, const Attempt& attempt) {
  plugin::ExecutionProvider* provider = provider_of(attempt);
  if (provider == nullptr) return failed(not_loaded("execution provider", attempt.policy.provider));
  if (provider->isolated()) return destroy_sandbox(call, allocation_of(attempt), *provider);
  if (attempt.process) {
    auto stopped = provider->stop(call, allocation_of(attempt), attempt.policy.timeouts.stop_grace);
    if (!stopped) return failed(stopped.error());
  }
  RMGR_CRASH_POINT("effect.destroy.stopped");
  auto removed = provider->remove(call, allocation_of(attempt));
  RMGR_CRASH_POINT("effect.destroy.after");
  if (!removed) return failed(removed.error());
  return {event::Destroyed{}, {}, {}};
}

// By id where the id is all that can be there; by name where a request was made whose answer never came.
Performed Performer::deregister(Call& call, const Attempt& attempt) {
  plugin::Gateway* gateway = gateway_of(attempt);
  if (gateway == nullptr) return failed(not_loaded("gateway", attempt.policy.gateway));
  std::optional<domain::RunnerId> runner = attempt.runner;
  std::optional<domain::RunnerId> found;
  if (!runner || attempt.unanswered_at) {
    auto listed = gateway->inventory(call, attempt.policy.target);
    if (!listed) return failed(listed.error());
    const std::string name = domain::runner_name(attempt.id);
    for (const plugin::Runner& entry : *listed) {
      if (entry.name == name) found = entry.id;
    }
    // A known id is asked for even if the listing lacks it: an entry can slip from one page to another.
    if (found) runner = found;
    if (!runner) return {event::Deregistered{.removal = event::Removal::not_listed, .found = {}}, {}, {}};
  }
  RMGR_CRASH_POINT("effect.deregister.before");
  auto removed = gateway->deregister(call, attempt.policy.target, *runner);
  RMGR_CRASH_POINT("effect.deregister.after");
  if (removed) return {event::Deregistered{.removal = event::Removal::gone, .found = found}, {}, {}};
  if (removed.error().code == ErrorCode::busy) {
    return {event::Deregistered{.removal = event::Removal::busy, .found = found}, {}, {}};
  }
  return failed(removed.error());
}

Performed Performer::scrub(Call& call, const Attempt& attempt, const domain::Policy* configured) {
  RMGR_CRASH_POINT("effect.scrub.before");
  if (auto written = workspace::write_record(world_.records, attempt); !written) {
    Performed unwritten = failed(written.error());
    std::get<event::Failed>(unwritten.body).of_state = true;
    return unwritten;
  }
  if (attempt.slot) return scrub_slot(call, attempt, configured);
  auto removed = workspace::remove_runtime(attempt.policy.root, runtime_name(attempt),
                                           [&call] { return call.cancelled(); });
  if (!removed) return failed(removed.error());
  RMGR_CRASH_POINT("effect.scrub.removed");
  if (!removed->complete) {
    return failed(
        {.code = ErrorCode::busy,
         .message = "the runtime directory still has entries: something writes to it while it is removed",
         .retry_after = domain::Millis{0}});
  }
  return {event::Scrubbed{}, {}, {}};
}

// From the two facts in the row, and from nothing that the directory looks like.
Performed Performer::scrub_slot(Call& call, const Attempt& attempt, const domain::Policy* configured) {
  if (const auto refusal = domain::check_slot(attempt, configured)) {
    const std::string word(domain::to_string(*refusal));
    return slot_failed(
        {*refusal, {ErrorCode::denied, word + ": " + std::string(domain::remedy(*refusal)), {}}});
  }
  const workspace::Slot slot = slot_of(attempt);
  // A slot that it never took was refused, or nobody came to it: nothing in it is of this attempt.
  const auto taken = workspace::has_taken(slot, attempt.id);
  if (!taken && taken.error().code != ErrorCode::invalid) return failed(taken.error());
  if (taken && !*taken && !attempt.times.materialized) {
    if (auto left = workspace::leave_slot(slot); !left) return failed(left.error());
    return {event::Scrubbed{}, {}, {}};
  }
  RMGR_CRASH_POINT("effect.scrub.slot_before");
  if (const auto failure = workspace::scrub_slot(slot, until_cancelled(call))) return slot_failed(*failure);
  RMGR_CRASH_POINT("effect.scrub.slot_after");
  return {event::Scrubbed{}, {}, {}};
}

Performer::Swept Performer::sweep(Call& call, const Attempt& attempt) {
  auto removed = workspace::remove_runtime(attempt.policy.root, runtime_name(attempt),
                                           [&call] { return call.cancelled(); });
  // Without its root there is nothing of it either.
  if (!removed) return {.found = removed.error().code != ErrorCode::not_found, .removed = false};
  return {.found = removed->entries > 0 || !removed->complete, .removed = removed->complete};
}

// No held process was ever journalled for a native attempt without an identity, so nothing of it can run.
EnvironmentLook Performer::look(Call& call, const Attempt& attempt) {
  if (attempt.policy.provider_kind == domain::ProviderKind::native && !attempt.process) {
    return {
        .view = domain::EnvironmentView::missing, .clean = false, .exit_code = {}, .out_of_memory = false};
  }
  plugin::ExecutionProvider* provider = provider_of(attempt);
  if (provider == nullptr) return {};
  RMGR_CRASH_POINT("effect.look.before");
  if (provider->isolated()) return look_at_sandbox(call, allocation_of(attempt), *provider);
  auto state = provider->inspect(call, allocation_of(attempt));
  if (!state) return {};
  // Nobody looks at an attempt whose launch is under way here, so this gate belongs to a daemon that died:
  // the process behind it either got its secret and is about to run, or is about to end. Which of the two the
  // next look will tell.
  if (provider->holds() && state->view == domain::EnvironmentView::prepared) return {};
  return {.view = state->view,
          .clean = state->clean,
          .exit_code = state->exit_code,
          .out_of_memory = state->out_of_memory};
}

}  // namespace agent::lifecycle
