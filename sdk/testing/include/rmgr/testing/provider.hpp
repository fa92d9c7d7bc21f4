// An execution provider under test: each operation as the daemon would call it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rmgr/abi/execution_provider.h"
#include "rmgr/testing/attempt.hpp"
#include "rmgr/testing/instance.hpp"

namespace rmgr::testing {

// Destroys its instance when it ends. An optional function that the plugin lacks answers `unsupported`.
class Provider {
 public:
  Provider(std::shared_ptr<detail::Library> library, std::string name, const std::string& config)
      : instance_(std::make_unique<Instance>(std::move(library), RMGR_INTERFACE_EXECUTION_PROVIDER,
                                             std::move(name), config)) {
    const rmgr_execution_provider& table = functions();
    if (table.probe == nullptr || table.prepare == nullptr || table.start == nullptr ||
        table.inspect == nullptr || table.stop == nullptr || table.remove == nullptr ||
        (holds() && table.hold == nullptr))
      detail::refuse("The provider lacks a function that every provider has.");
  }
  [[nodiscard]] bool isolated() const { return (instance_->flags() & RMGR_PROVIDER_ISOLATED) != 0; }
  [[nodiscard]] bool holds() const { return (instance_->flags() & RMGR_PROVIDER_HOLDS) != 0; }
  [[nodiscard]] bool concurrent() const { return (instance_->flags() & RMGR_COMPONENT_CONCURRENT) != 0; }

  Answer<Probe> probe(const Profile& profile = {}, CallControl control = CallControl()) {
    std::vector<Probe> seen;
    using Call = detail::ItemCall<rmgr_probe_sink, rmgr_probe>;
    const auto call =
        instance_->make_call<Call>("probe", std::move(control), [&](Call& open, const rmgr_probe& item) {
          if (item.readiness < RMGR_PROBE_READY || item.readiness > RMGR_PROBE_DEGRADED)
            open.violation("answered an unknown readiness");
          seen.push_back({static_cast<Readiness>(item.readiness), open.text(item.remedy, 1000),
                          open.text(item.note, 1000)});
          if (seen.back().readiness != Readiness::ready && seen.back().remedy.empty())
            open.violation("is not ready and names no remedy");
        });
    const rmgr_profile view = detail::view(profile);
    Outcome outcome = instance_->run(
        call, [&] { return functions().probe(handle(), call->call(), &view, call->sink(), call->error()); });
    if (outcome.ok() && seen.size() != 1) call->violation("did not write exactly one readiness");
    return detail::answer(std::move(outcome),
                          seen.empty() ? Probe{Readiness::degraded, "", ""} : seen.back());
  }

  Answer<std::optional<std::string>> resolve(const Profile& profile, CallControl control = CallControl()) {
    if (functions().resolve == nullptr) return {detail::lacking("resolve"), {}};
    const rmgr_profile view = detail::view(profile);
    return at_most_one_text("resolve", std::move(control), [&](const detail::TextCall& call) {
      return functions().resolve(handle(), call.call(), &view, call.sink(), call.error());
    });
  }

  // Fills in the attempt's environment.
  Answer<std::optional<std::string>> prepare(Attempt& attempt, CallControl control = CallControl()) {
    const rmgr_allocation view = detail::view(attempt);
    auto answer = at_most_one_text("prepare", std::move(control), [&](const detail::TextCall& call) {
      return functions().prepare(handle(), call.call(), &view, call.sink(), call.error());
    });
    if (answer.ok() && answer.value) attempt.environment = *answer.value;
    return answer;
  }

  // Fills in the attempt's process.
  Answer<ProcessIdentity> hold(Attempt& attempt, CallControl control = CallControl()) {
    if (functions().hold == nullptr) return {detail::lacking("hold"), {}};
    std::vector<ProcessIdentity> seen;
    using Call = detail::ItemCall<rmgr_identity_sink, rmgr_process_identity>;
    const auto call = instance_->make_call<Call>(
        "hold", std::move(control), [&](Call& open, const rmgr_process_identity& item) {
          if (item.pid <= 0) open.violation("answered an unusable process identity");
          seen.push_back({item.pid, item.start_token, open.text(item.boot_id, 128)});
        });
    const rmgr_allocation view = detail::view(attempt);
    Outcome outcome = instance_->run(
        call, [&] { return functions().hold(handle(), call->call(), &view, call->sink(), call->error()); });
    if (outcome.ok() && seen.size() != 1) call->violation("did not write exactly one process identity");
    if (outcome.ok() && !seen.empty()) attempt.process = seen.back();
    return detail::answer(std::move(outcome), seen.empty() ? ProcessIdentity{} : seen.back());
  }

  // The value says also after a failure whether a process may have existed.
  Answer<StartResult> start(const Attempt& attempt, std::string_view secret,
                            CallControl control = CallControl()) {
    instance_->world().record.know_secret(secret);
    const auto call = instance_->make_call<detail::CheckedCall>("start", std::move(control));
    const rmgr_allocation view = detail::view(attempt);
    constexpr std::int32_t untouched = -1;
    rmgr_start_result result{rmgr::detail::size_of<rmgr_start_result>(), untouched, 0};
    Outcome outcome = instance_->run(call, [&] {
      return functions().start(handle(), call->call(), &view, {secret.data(), secret.size()}, &result,
                               call->error());
    });
    if (result.process_existed == untouched) call->violation("did not fill in its result");
    if (outcome.ok() && result.process_existed == 0) call->violation("succeeded without a process");
    return detail::answer(std::move(outcome), StartResult{result.process_existed != 0, result.live_pid});
  }

  Answer<EnvironmentState> inspect(const Attempt& attempt, CallControl control = CallControl()) {
    const auto call = instance_->make_call<detail::CheckedCall>("inspect", std::move(control));
    const rmgr_allocation view = detail::view(attempt);
    rmgr_environment_state state{};
    state.struct_size = rmgr::detail::size_of<rmgr_environment_state>();
    Outcome outcome = instance_->run(
        call, [&] { return functions().inspect(handle(), call->call(), &view, &state, call->error()); });
    EnvironmentState seen;
    if (outcome.ok()) {
      if (state.state < RMGR_ENVIRONMENT_PREPARED || state.state > RMGR_ENVIRONMENT_MISSING)
        call->violation("answered an unknown state");
      if (state.clean != 0 && (state.state != RMGR_ENVIRONMENT_EXITED || state.exit_code != 0))
        call->violation("called something clean that did not exit with 0");
      seen = {static_cast<EnvironmentStatus>(state.state), state.exit_code, state.clean != 0,
              state.out_of_memory != 0};
    }
    return detail::answer(std::move(outcome), seen);
  }

  Answer<std::vector<Owned>> recover(const Attempt& attempt, CallControl control = CallControl()) {
    if (functions().recover == nullptr) return {detail::lacking("recover"), {}};
    const rmgr_allocation view = detail::view(attempt);
    return owned_list("recover", std::move(control), [&](const OwnedCall& call) {
      return functions().recover(handle(), call.call(), &view, call.sink(), call.error());
    });
  }

  Outcome stop(const Attempt& attempt, Millis grace = Millis{1'000}, CallControl control = CallControl()) {
    const auto call = instance_->make_call<detail::CheckedCall>("stop", std::move(control));
    const rmgr_allocation view = detail::view(attempt);
    return instance_->run(
        call, [&] { return functions().stop(handle(), call->call(), &view, grace.count(), call->error()); });
  }

  Outcome remove(const Attempt& attempt, CallControl control = CallControl()) {
    const auto call = instance_->make_call<detail::CheckedCall>("remove", std::move(control));
    const rmgr_allocation view = detail::view(attempt);
    return instance_->run(call,
                          [&] { return functions().remove(handle(), call->call(), &view, call->error()); });
  }

  Answer<std::vector<Owned>> enumerate_owned(std::string_view host, CallControl control = CallControl()) {
    if (functions().enumerate_owned == nullptr) return {detail::lacking("enumerate_owned"), {}};
    auto answer = owned_list("enumerate_owned", std::move(control), [&](const OwnedCall& call) {
      return functions().enumerate_owned(handle(), call.call(), to_abi(host), call.sink(), call.error());
    });
    for (const Owned& each : answer.value) {
      if (each.host != host)
        instance_->world().record.violation("enumerate_owned", "listed another host's resource");
    }
    return answer;
  }

  bool owns(const Attempt& attempt, std::string_view environment, CallControl control = CallControl()) {
    if (functions().owns == nullptr) return false;
    const auto call = instance_->make_call<detail::CheckedCall>("owns", std::move(control));
    const rmgr_allocation view = detail::view(attempt);
    std::int32_t owned = 0;
    (void)instance_->run(call, [&] {
      owned = functions().owns(handle(), call->call(), &view, to_abi(environment));
      return RMGR_OK;
    });
    if (owned != 0 && owned != 1) call->violation("answered something else than 0 or 1");
    return owned == 1;
  }

  Answer<std::vector<std::string>> diagnostics(const Attempt& attempt, CallControl control = CallControl()) {
    if (functions().diagnostics == nullptr) return {detail::lacking("diagnostics"), {}};
    const auto call = instance_->make_call<detail::TextCall>("diagnostics", std::move(control));
    const rmgr_allocation view = detail::view(attempt);
    Outcome outcome = instance_->run(call, [&] {
      return functions().diagnostics(handle(), call->call(), &view, call->sink(), call->error());
    });
    std::vector<std::string> lines = call->take();
    if (lines.size() > 16) call->violation("wrote more than 16 lines");
    return detail::answer(std::move(outcome), std::move(lines));
  }

 private:
  using Instance = detail::Instance<rmgr_execution_provider>;
  using OwnedCall = detail::ItemCall<rmgr_owned_sink, rmgr_owned>;

  [[nodiscard]] const rmgr_execution_provider& functions() const { return instance_->table(); }
  [[nodiscard]] rmgr_instance* handle() const { return instance_->handle(); }

  template <class Function>
  Answer<std::optional<std::string>> at_most_one_text(const char* operation, CallControl control,
                                                      Function&& function) {
    const auto call = instance_->make_call<detail::TextCall>(operation, std::move(control));
    Outcome outcome = instance_->run(call, [&] { return function(*call); });
    std::vector<std::string> texts = call->take();
    if (texts.size() > 1) call->violation("wrote more than one text");
    std::optional<std::string> first;
    if (!texts.empty()) first = std::move(texts.front());
    return detail::answer(std::move(outcome), std::move(first));
  }
  template <class Function>
  Answer<std::vector<Owned>> owned_list(const char* operation, CallControl control, Function&& function) {
    std::vector<Owned> found;
    const auto call = instance_->make_call<OwnedCall>(
        operation, std::move(control), [&found](OwnedCall& open, const rmgr_owned& item) {
          found.push_back({open.text(item.host), open.text(item.attempt), open.text(item.generation),
                           open.text(item.image), open.text(item.environment)});
          if (found.back().environment.empty()) open.violation("listed a resource without an environment id");
        });
    Outcome outcome = instance_->run(call, [&] { return function(*call); });
    return detail::answer(std::move(outcome), std::move(found));
  }

  std::unique_ptr<Instance> instance_;
};

}  // namespace rmgr::testing
