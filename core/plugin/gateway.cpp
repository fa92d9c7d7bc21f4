// The facade over rmgr.gateway/1.
#include "rmgr/abi/gateway.h"
#include "plugin/instance.hpp"
#include "plugin/secrets.hpp"

namespace agent::plugin {
namespace {

using domain::Error;
using domain::ErrorCode;

constexpr std::size_t most_labels = 200;
constexpr std::size_t most_label = 1024;
constexpr std::size_t most_name = 1024;

rmgr_status read_job(Gate& gate, const rmgr_job& item, domain::Job& job) {
  if (item.status != RMGR_JOB_QUEUED && item.status != RMGR_JOB_IN_PROGRESS)
    return gate.violation("an unknown job status");
  if (item.label_count > most_labels || (item.label_count > 0 && item.labels == nullptr))
    return gate.violation("an unusable list of labels");
  job.id = domain::JobId(item.id);
  job.run_id = item.run_id;
  job.queued = item.status == RMGR_JOB_QUEUED;
  job.runner_group_id = item.runner_group_id;
  rmgr_status status = gate.text(item.repository, job.repository, most_name);
  if (status == RMGR_OK) status = gate.text(item.runner_name, job.runner_name, most_name);
  for (std::size_t i = 0; i < item.label_count && status == RMGR_OK; ++i)
    status = gate.text(item.labels[i], job.labels.emplace_back(), most_label);
  return status;
}

// Receives the registration; the secret is copied once, into the answer.
class RegistrationGate final : public Gate {
 public:
  RegistrationGate(Call& call, std::string subject, std::optional<Registration>& answer)
      : Gate(call, std::move(subject)),
        answer_(&answer),
        sink_{sizeof(rmgr_registration_sink), 0, context(), &RegistrationGate::write} {}
  [[nodiscard]] const rmgr_registration_sink* sink() const { return &sink_; }

 private:
  static rmgr_status RMGR_CALL write(void* ctx, std::int64_t runner_id, rmgr_secret secret) noexcept {
    return enter(ctx, [&](Gate& gate) -> rmgr_status {
      std::optional<Registration>& answer = *static_cast<RegistrationGate&>(gate).answer_;
      if (answer) return gate.violation("more than one registration");
      if (runner_id <= 0) return gate.violation("a registration without a runner id");
      if (secret.bytes == nullptr || secret.size == 0 || secret.size > RMGR_SECRET_MAX)
        return gate.violation("a registration with a secret of unusable size");
      answer.emplace();
      answer->runner = domain::RunnerId(runner_id);
      answer->jit_config.assign(secret.bytes, secret.size);
      return RMGR_OK;
    });
  }
  void release() override { answer_ = nullptr; }
  std::optional<Registration>* answer_;
  rmgr_registration_sink sink_;
};

class GatewayFacade final : public Gateway {
 public:
  explicit GatewayFacade(std::shared_ptr<Instance> instance)
      : instance_(std::move(instance)), table_(instance_->table<rmgr_gateway>()) {}

  [[nodiscard]] Result<void> complete() const {
    if (table_.demand == nullptr) return lacks(*instance_, "demand");
    if (table_.inventory == nullptr) return lacks(*instance_, "inventory");
    if (table_.register_runner == nullptr) return lacks(*instance_, "register_runner");
    if (table_.deregister == nullptr) return lacks(*instance_, "deregister");
    return {};
  }

  Result<Demand> demand(Call& call, const domain::Target& target) override {
    Demand answer;
    const auto gate = std::make_shared<ItemGate<rmgr_job_sink, rmgr_job>>(
        call, instance_->name(), [&answer](Gate& open, const rmgr_job& item) {
          return read_job(open, item, answer.jobs.emplace_back());
        });
    rmgr_demand_result result{sizeof(rmgr_demand_result), 0, -1};
    const Result<void> done = instance_->run(gate, [&] {
      return table_.demand(instance_->handle(), gate->call(), to_abi(target.str()), gate->sink(), &result,
                           gate->error());
    });
    if (!done) return done.error();
    answer.unchanged = result.unchanged != 0;
    if (result.quota_left_percent >= 0)
      answer.quota_left_percent = std::min<std::int64_t>(result.quota_left_percent, 100);
    return answer;
  }

  Result<std::vector<Runner>> inventory(Call& call, const domain::Target& target) override {
    std::vector<Runner> answer;
    const auto gate = std::make_shared<ItemGate<rmgr_runner_sink, rmgr_runner>>(
        call, instance_->name(), [&answer](Gate& open, const rmgr_runner& item) -> rmgr_status {
          Runner runner;
          runner.id = domain::RunnerId(item.id);
          runner.online = item.online != 0;
          runner.busy = item.busy != 0;
          const rmgr_status status = open.text(item.name, runner.name, most_name);
          if (status == RMGR_OK) answer.push_back(std::move(runner));
          return status;
        });
    const Result<void> done = instance_->run(gate, [&] {
      return table_.inventory(instance_->handle(), gate->call(), to_abi(target.str()), gate->sink(),
                              gate->error());
    });
    if (!done) return done.error();
    return answer;
  }

  Result<Registration> register_runner(Call& call, const domain::Target& target, const std::string& name,
                                       std::int64_t group, const std::vector<std::string>& labels,
                                       const std::string& work_folder) override {
    std::vector<rmgr_str> label_views;
    label_views.reserve(labels.size());
    for (const std::string& label : labels)
      label_views.push_back(to_abi(label));
    const rmgr_registration_request request{sizeof(rmgr_registration_request),
                                            0,
                                            to_abi(target.str()),
                                            to_abi(name),
                                            group,
                                            label_views.data(),
                                            label_views.size(),
                                            to_abi(work_folder)};
    std::optional<Registration> answer;
    const auto gate = std::make_shared<RegistrationGate>(call, instance_->name(), answer);
    const Result<void> done = instance_->run(gate, [&] {
      return table_.register_runner(instance_->handle(), gate->call(), &request, gate->sink(), gate->error());
    });
    if (done && answer) return std::move(*answer);
    if (answer) wipe(answer->jit_config.data(), answer->jit_config.size());
    if (!done) return done.error();
    return Error{
        ErrorCode::internal,
        "The plugin of " + instance_->name() + " answered without a registration; report it to its vendor.",
        {}};
  }

  Result<void> deregister(Call& call, const domain::Target& target, domain::RunnerId runner) override {
    const auto gate = std::make_shared<Gate>(call, instance_->name());
    return instance_->run(gate, [&] {
      return table_.deregister(instance_->handle(), gate->call(), to_abi(target.str()), runner.get(),
                               gate->error());
    });
  }

 private:
  std::shared_ptr<Instance> instance_;
  rmgr_gateway table_;
};

}  // namespace

Result<std::unique_ptr<Gateway>> make_gateway(std::shared_ptr<Instance> instance) {
  auto gateway = std::make_unique<GatewayFacade>(std::move(instance));
  const Result<void> complete = gateway->complete();
  if (!complete) return complete.error();
  return std::unique_ptr<Gateway>(std::move(gateway));
}

}  // namespace agent::plugin
