// The facade over rmgr.execution-provider/1.
#include "plugin/instance.hpp"
#include "rmgr/abi/execution_provider.h"
#include "rmgr/abi/warm_start.h"

namespace agent::plugin {
namespace {

using domain::Error;
using domain::ErrorCode;

constexpr std::size_t most_id = 4096;
constexpr std::size_t most_image = 1024;
constexpr std::size_t most_lines = 16;

rmgr_profile profile_of(const domain::Policy& policy) {
  const domain::Profile& profile = policy.profile;
  return {sizeof(rmgr_profile),      0,
          to_abi(policy.name.str()), to_abi(profile.image),
          profile.cpu_milli,         profile.memory_bytes,
          profile.disk_bytes,        profile.pids};
}

// The C view of an allocation; lives no longer than the allocation.
class AbiAllocation {
 public:
  explicit AbiAllocation(const Allocation& allocation)
      : runner_name_(domain::runner_name(allocation.attempt->id)) {
    const domain::Attempt& attempt = *allocation.attempt;
    abi_.struct_size = sizeof(rmgr_allocation);
    abi_.host = to_abi(allocation.host.str());
    abi_.attempt = to_abi(attempt.id.str());
    abi_.generation = to_abi(attempt.generation.str());
    abi_.image = to_abi(attempt.policy.profile.image);
    abi_.policy = to_abi(attempt.policy.name.str());
    abi_.runner_name = to_abi(runner_name_);
    abi_.runtime = to_abi(attempt.runtime);
    abi_.package = to_abi(allocation.package);
    if (attempt.environment) abi_.environment = to_abi(attempt.environment->str());
    abi_.process.struct_size = sizeof(rmgr_process_identity);
    if (attempt.process) {
      abi_.process.pid = attempt.process->pid;
      abi_.process.start_token = attempt.process->start_token;
      abi_.process.boot_id = to_abi(attempt.process->boot_id.str());
    }
    abi_.profile = profile_of(attempt.policy);
    abi_.stop_grace_ms = attempt.policy.timeouts.stop_grace.count();
  }
  AbiAllocation(const AbiAllocation&) = delete;
  AbiAllocation& operator=(const AbiAllocation&) = delete;
  [[nodiscard]] const rmgr_allocation* get() const { return &abi_; }

 private:
  std::string runner_name_;
  rmgr_allocation abi_{};
};

std::optional<Readiness> readiness_of(std::int32_t value) {
  switch (value) {
    case RMGR_PROBE_READY: return Readiness::ready;
    case RMGR_PROBE_UNSUPPORTED: return Readiness::unsupported;
    case RMGR_PROBE_NOT_INSTALLED: return Readiness::not_installed;
    case RMGR_PROBE_PERMISSION_DENIED: return Readiness::permission_denied;
    case RMGR_PROBE_IMAGE_UNAVAILABLE: return Readiness::image_unavailable;
    case RMGR_PROBE_DISK_QUOTA_UNAVAILABLE: return Readiness::disk_quota_unavailable;
    case RMGR_PROBE_DEGRADED: return Readiness::degraded;
    default: return std::nullopt;
  }
}

std::optional<domain::EnvironmentView> view_of_state(std::int32_t value) {
  switch (value) {
    case RMGR_ENVIRONMENT_PREPARED: return domain::EnvironmentView::prepared;
    case RMGR_ENVIRONMENT_STARTING: return domain::EnvironmentView::starting;
    case RMGR_ENVIRONMENT_RUNNING: return domain::EnvironmentView::running;
    case RMGR_ENVIRONMENT_EXITED: return domain::EnvironmentView::exited;
    case RMGR_ENVIRONMENT_MISSING: return domain::EnvironmentView::missing;
    default: return std::nullopt;
  }
}

Error silent(const Instance& instance, const char* what) {
  return {ErrorCode::internal,
          "The plugin of " + instance.name() + " answered without " + what + "; report it to its vendor.",
          {}};
}

class Provider final : public ExecutionProvider {
 public:
  explicit Provider(std::shared_ptr<Instance> instance)
      : instance_(std::move(instance)),
        table_(instance_->table<rmgr_execution_provider>()),
        warm_(instance_->extension<rmgr_warm_start>(RMGR_INTERFACE_WARM_START)) {}

  [[nodiscard]] Result<void> complete() const {
    if (table_.probe == nullptr) return lacks(*instance_, "probe");
    if (table_.prepare == nullptr) return lacks(*instance_, "prepare");
    if (table_.start == nullptr) return lacks(*instance_, "start");
    if (table_.inspect == nullptr) return lacks(*instance_, "inspect");
    if (table_.stop == nullptr) return lacks(*instance_, "stop");
    if (table_.remove == nullptr) return lacks(*instance_, "remove");
    if (holds() && table_.hold == nullptr) return lacks(*instance_, "hold");
    if (!isolated()) return {};
    if (table_.resolve == nullptr) return lacks(*instance_, "resolve");
    if (table_.recover == nullptr) return lacks(*instance_, "recover");
    if (table_.enumerate_owned == nullptr) return lacks(*instance_, "enumerate_owned");
    if (table_.owns == nullptr) return lacks(*instance_, "owns");
    return {};
  }

  [[nodiscard]] bool isolated() const override { return (instance_->flags() & RMGR_PROVIDER_ISOLATED) != 0; }
  [[nodiscard]] bool holds() const override { return (instance_->flags() & RMGR_PROVIDER_HOLDS) != 0; }

  Result<Probe> probe(Call& call, const domain::Policy& policy) override {
    std::optional<Probe> answer;
    const auto gate = std::make_shared<ItemGate<rmgr_probe_sink, rmgr_probe>>(
        call, instance_->name(), [&answer](Gate& open, const rmgr_probe& item) -> rmgr_status {
          const auto readiness = readiness_of(item.readiness);
          if (!readiness) return open.violation("an unknown readiness");
          Probe probe;
          probe.readiness = *readiness;
          rmgr_status status = open.text(item.remedy, probe.remedy);
          if (status == RMGR_OK) status = open.text(item.note, probe.note);
          probe.package_inside = RMGR_HAS(&item, rmgr_probe, package_inside) && item.package_inside == 1;
          if (status == RMGR_OK) answer = std::move(probe);
          return status;
        });
    const rmgr_profile profile = profile_of(policy);
    const Result<void> done = instance_->run(gate, [&] {
      return table_.probe(instance_->handle(), gate->call(), &profile, gate->sink(), gate->error());
    });
    if (!done) return done.error();
    if (!answer) return silent(*instance_, "a readiness");
    answer->remedy = one_line(answer->remedy, 1000);
    answer->note = one_line(answer->note, 1000);
    return std::move(*answer);
  }

  Result<std::string> resolve(Call& call, const domain::Policy& policy) override {
    if (table_.resolve == nullptr) return lacks(*instance_, "resolve");
    std::string answer;
    const auto gate = std::make_shared<TextGate>(call, instance_->name(),
                                                 [&answer](Gate& open, std::string image) -> rmgr_status {
                                                   if (!answer.empty())
                                                     return open.violation("more than one image");
                                                   if (image.empty() || image.size() > most_image)
                                                     return open.violation("an image of unusable size");
                                                   answer = std::move(image);
                                                   return RMGR_OK;
                                                 });
    const rmgr_profile profile = profile_of(policy);
    const Result<void> done = instance_->run(gate, [&] {
      return table_.resolve(instance_->handle(), gate->call(), &profile, gate->sink(), gate->error());
    });
    if (!done) return done.error();
    if (answer.find("sha256:") == std::string::npos)
      return silent(*instance_, "an image that is pinned by its digest");
    return answer;
  }

  Result<std::vector<OwnedEnvironment>> recover(Call& call, const Allocation& allocation) override {
    if (table_.recover == nullptr) return lacks(*instance_, "recover");
    const AbiAllocation abi(allocation);
    return list_owned(call, [&](OwnedGate& gate) {
      return table_.recover(instance_->handle(), gate.call(), abi.get(), gate.sink(), gate.error());
    });
  }

  Result<std::vector<OwnedEnvironment>> enumerate_owned(Call& call,
                                                        const domain::InstallationId& host) override {
    if (table_.enumerate_owned == nullptr) return lacks(*instance_, "enumerate_owned");
    return list_owned(call, [&](OwnedGate& gate) {
      return table_.enumerate_owned(instance_->handle(), gate.call(), to_abi(host.str()), gate.sink(),
                                    gate.error());
    });
  }

  bool owns(Call& call, const Allocation& allocation, const domain::EnvironmentId& environment) override {
    if (table_.owns == nullptr) return false;
    const auto gate = std::make_shared<Gate>(call, instance_->name());
    const AbiAllocation abi(allocation);
    std::int32_t answer = 0;
    const Result<void> done = instance_->run(gate, [&]() -> rmgr_status {
      answer = table_.owns(instance_->handle(), gate->call(), abi.get(), to_abi(environment.str()));
      return RMGR_OK;
    });
    return done && answer == 1;
  }

  Result<std::vector<std::string>> diagnostics(Call& call, const Allocation& allocation) override {
    std::vector<std::string> lines;
    if (table_.diagnostics == nullptr) return lines;
    const auto gate = std::make_shared<TextGate>(
        call, instance_->name(), [&lines](Gate& open, const std::string& line) -> rmgr_status {
          if (lines.size() == most_lines) return open.violation("more than 16 lines of diagnostics");
          lines.push_back(one_line(line, 200));
          return RMGR_OK;
        });
    const AbiAllocation abi(allocation);
    const Result<void> done = instance_->run(gate, [&] {
      return table_.diagnostics(instance_->handle(), gate->call(), abi.get(), gate->sink(), gate->error());
    });
    if (!done) return done.error();
    return lines;
  }

  Result<std::optional<domain::EnvironmentId>> prepare(Call& call, const Allocation& allocation) override {
    std::optional<domain::EnvironmentId> answer;
    const auto gate = std::make_shared<TextGate>(
        call, instance_->name(), [&answer](Gate& open, std::string id) -> rmgr_status {
          if (answer) return open.violation("more than one environment id");
          if (id.empty() || id.size() > most_id) return open.violation("an environment id of unusable size");
          answer = domain::EnvironmentId(std::move(id));
          return RMGR_OK;
        });
    const AbiAllocation abi(allocation);
    const Result<void> done = instance_->run(gate, [&] {
      return table_.prepare(instance_->handle(), gate->call(), abi.get(), gate->sink(), gate->error());
    });
    if (!done) return done.error();
    return answer;
  }

  [[nodiscard]] bool warms() const override { return warm_.warm != nullptr; }
  Result<void> warm(Call& call, const Allocation& allocation) override {
    if (warm_.warm == nullptr) return lacks(*instance_, "warm");
    const auto gate = std::make_shared<Gate>(call, instance_->name());
    const AbiAllocation abi(allocation);
    return instance_->run(
        gate, [&] { return warm_.warm(instance_->handle(), gate->call(), abi.get(), gate->error()); });
  }

  Result<domain::ProcessIdentity> hold(Call& call, const Allocation& allocation) override {
    if (table_.hold == nullptr) return lacks(*instance_, "hold");
    std::optional<domain::ProcessIdentity> answer;
    const auto gate = std::make_shared<ItemGate<rmgr_identity_sink, rmgr_process_identity>>(
        call, instance_->name(), [&answer](Gate& open, const rmgr_process_identity& item) -> rmgr_status {
          std::string boot;
          const rmgr_status status = open.text(item.boot_id, boot, 128);
          if (status != RMGR_OK) return status;
          if (answer || item.pid <= 0) return open.violation("an unusable process identity");
          answer = domain::ProcessIdentity{item.pid, item.start_token, domain::BootId(std::move(boot))};
          return RMGR_OK;
        });
    const AbiAllocation abi(allocation);
    const Result<void> done = instance_->run(gate, [&] {
      return table_.hold(instance_->handle(), gate->call(), abi.get(), gate->sink(), gate->error());
    });
    if (!done) return done.error();
    if (!answer) return silent(*instance_, "a process identity");
    return std::move(*answer);
  }

  std::optional<StartFailure> start(Call& call, const Allocation& allocation,
                                    std::string_view secret) override {
    const auto gate = std::make_shared<Gate>(call, instance_->name());
    const AbiAllocation abi(allocation);
    // What a plugin does not fill in counts as the worst.
    rmgr_start_result result{sizeof(rmgr_start_result), 1, 0};
    const Result<void> done = instance_->run(gate, [&] {
      return table_.start(instance_->handle(), gate->call(), abi.get(), {secret.data(), secret.size()},
                          &result, gate->error());
    });
    if (done) return std::nullopt;
    return StartFailure{done.error(), result.process_existed != 0,
                        std::max<std::int64_t>(result.live_pid, 0)};
  }

  Result<EnvironmentState> inspect(Call& call, const Allocation& allocation) override {
    const auto gate = std::make_shared<Gate>(call, instance_->name());
    const AbiAllocation abi(allocation);
    rmgr_environment_state state{};
    state.struct_size = sizeof(rmgr_environment_state);
    const Result<void> done = instance_->run(gate, [&] {
      return table_.inspect(instance_->handle(), gate->call(), abi.get(), &state, gate->error());
    });
    if (!done) return done.error();
    const auto view = view_of_state(state.state);
    if (!view) return silent(*instance_, "a known state");
    EnvironmentState answer;
    answer.view = *view;
    if (*view == domain::EnvironmentView::exited) {
      if (state.exit_code >= 0) answer.exit_code = state.exit_code;
      answer.clean = state.clean != 0 && state.exit_code == 0;
      answer.out_of_memory = state.out_of_memory != 0;
    }
    return answer;
  }

  Result<void> stop(Call& call, const Allocation& allocation, domain::Millis grace) override {
    const auto gate = std::make_shared<Gate>(call, instance_->name());
    const AbiAllocation abi(allocation);
    return instance_->run(gate, [&] {
      return table_.stop(instance_->handle(), gate->call(), abi.get(), grace.count(), gate->error());
    });
  }

  Result<void> remove(Call& call, const Allocation& allocation) override {
    const auto gate = std::make_shared<Gate>(call, instance_->name());
    const AbiAllocation abi(allocation);
    return instance_->run(
        gate, [&] { return table_.remove(instance_->handle(), gate->call(), abi.get(), gate->error()); });
  }

 private:
  using OwnedGate = ItemGate<rmgr_owned_sink, rmgr_owned>;

  template <class Ask>
  Result<std::vector<OwnedEnvironment>> list_owned(Call& call, Ask&& ask) {
    std::vector<OwnedEnvironment> all;
    const auto gate = std::make_shared<OwnedGate>(
        call, instance_->name(), [&all](Gate& open, const rmgr_owned& item) -> rmgr_status {
          OwnedEnvironment one;
          std::string environment;
          rmgr_status status = RMGR_OK;
          for (const auto& [from, to] : {std::pair{&item.host, &one.host},
                                         {&item.attempt, &one.attempt},
                                         {&item.generation, &one.generation},
                                         {&item.image, &one.image},
                                         {&item.environment, &environment}}) {
            if (status == RMGR_OK) status = open.text(*from, *to, most_id);
          }
          if (status != RMGR_OK) return status;
          if (environment.empty()) return open.violation("a resource without an environment id");
          one.environment = domain::EnvironmentId(std::move(environment));
          all.push_back(std::move(one));
          return RMGR_OK;
        });
    const Result<void> done = instance_->run(gate, [&] { return ask(*gate); });
    if (!done) return done.error();
    return all;
  }

  std::shared_ptr<Instance> instance_;
  rmgr_execution_provider table_;
  rmgr_warm_start warm_;
};

}  // namespace

std::string_view to_string(Readiness readiness) {
  switch (readiness) {
    case Readiness::ready: return "ready";
    case Readiness::unsupported: return "unsupported";
    case Readiness::not_installed: return "not_installed";
    case Readiness::permission_denied: return "permission_denied";
    case Readiness::image_unavailable: return "image_unavailable";
    case Readiness::disk_quota_unavailable: return "disk_quota_unavailable";
    case Readiness::degraded: return "degraded";
  }
  return "degraded";
}

Result<std::unique_ptr<ExecutionProvider>> make_provider(std::shared_ptr<Instance> instance) {
  auto provider = std::make_unique<Provider>(std::move(instance));
  const Result<void> complete = provider->complete();
  if (!complete) return complete.error();
  return std::unique_ptr<ExecutionProvider>(std::move(provider));
}

}  // namespace agent::plugin
