// A gateway under test.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rmgr/gateway.hpp"
#include "rmgr/testing/instance.hpp"

namespace rmgr::testing {

// Destroys its instance when it ends.
class Gateway {
 public:
  Gateway(std::shared_ptr<detail::Library> library, std::string name, const std::string& config)
      : instance_(
            std::make_unique<Instance>(std::move(library), RMGR_INTERFACE_GATEWAY, std::move(name), config)) {
    const rmgr_gateway& table = functions();
    if (table.demand == nullptr || table.inventory == nullptr || table.register_runner == nullptr ||
        table.deregister == nullptr)
      detail::refuse("The gateway lacks a function that every gateway has.");
  }

  Answer<Demand> demand(std::string_view target, CallControl control = CallControl()) {
    Demand demand;
    using Call = detail::ItemCall<rmgr_job_sink, rmgr_job>;
    const auto call =
        instance_->make_call<Call>("demand", std::move(control), [&demand](Call& open, const rmgr_job& item) {
          if (item.status != RMGR_JOB_QUEUED && item.status != RMGR_JOB_IN_PROGRESS)
            open.violation("wrote a job of an unknown status");
          Job job;
          job.queued = item.status == RMGR_JOB_QUEUED;
          job.id = item.id;
          job.run_id = item.run_id;
          job.repository = open.text(item.repository);
          for (std::size_t i = 0; i < item.label_count; ++i)
            job.labels.push_back(open.text(item.labels[i]));
          job.runner_group_id = item.runner_group_id;
          job.runner_name = open.text(item.runner_name);
          for (const Job& other : demand.jobs) {
            if (other.id == job.id) open.violation("wrote one job twice");
          }
          demand.jobs.push_back(std::move(job));
        });
    rmgr_demand_result result{rmgr::detail::size_of<rmgr_demand_result>(), 0, -1};
    Outcome outcome = instance_->run(call, [&] {
      return functions().demand(handle(), call->call(), to_abi(target), call->sink(), &result, call->error());
    });
    if (result.quota_left_percent < -1 || result.quota_left_percent > 100)
      call->violation("answered a quota outside of 0 to 100");
    demand.unchanged = result.unchanged != 0;
    demand.quota_left_percent = result.quota_left_percent;
    return detail::answer(std::move(outcome), std::move(demand));
  }

  Answer<std::vector<Runner>> inventory(std::string_view target, CallControl control = CallControl()) {
    std::vector<Runner> runners;
    using Call = detail::ItemCall<rmgr_runner_sink, rmgr_runner>;
    const auto call = instance_->make_call<Call>(
        "inventory", std::move(control), [&runners](Call& open, const rmgr_runner& item) {
          runners.push_back({item.id, open.text(item.name), item.online != 0, item.busy != 0});
          if (runners.back().name.empty()) open.violation("wrote a runner without a name");
        });
    Outcome outcome = instance_->run(call, [&] {
      return functions().inventory(handle(), call->call(), to_abi(target), call->sink(), call->error());
    });
    return detail::answer(std::move(outcome), std::move(runners));
  }

  Answer<Registration> register_runner(const RegistrationRequest& request,
                                       CallControl control = CallControl()) {
    const auto call = instance_->make_call<RegistrationCall>("register_runner", std::move(control));
    std::vector<rmgr_str> labels;
    for (const std::string_view label : request.labels)
      labels.push_back(to_abi(label));
    const rmgr_registration_request view{rmgr::detail::size_of<rmgr_registration_request>(),
                                         0,
                                         to_abi(request.target),
                                         to_abi(request.name),
                                         request.runner_group_id,
                                         labels.data(),
                                         labels.size(),
                                         to_abi(request.work_folder)};
    Outcome outcome = instance_->run(call, [&] {
      return functions().register_runner(handle(), call->call(), &view, call->sink(), call->error());
    });
    if (outcome.ok() && call->writes != 1) call->violation("did not write exactly one registration");
    return detail::answer(std::move(outcome), std::move(call->registration));
  }

  Outcome deregister(std::string_view target, std::int64_t runner_id, CallControl control = CallControl()) {
    const auto call = instance_->make_call<detail::CheckedCall>("deregister", std::move(control));
    return instance_->run(call, [&] {
      return functions().deregister(handle(), call->call(), to_abi(target), runner_id, call->error());
    });
  }

 private:
  using Instance = detail::Instance<rmgr_gateway>;

  class RegistrationCall final : public detail::CheckedCall {
   public:
    RegistrationCall(detail::World& world, std::string operation, CallControl control)
        : CheckedCall(world, std::move(operation), std::move(control)) {
      sink_ = {rmgr::detail::size_of<rmgr_registration_sink>(), 0, static_cast<CheckedCall*>(this), &write};
    }
    [[nodiscard]] const rmgr_registration_sink* sink() const { return &sink_; }
    Registration registration;
    int writes = 0;

   private:
    static rmgr_status RMGR_CALL write(void* ctx, std::int64_t runner_id, rmgr_secret jit_config) noexcept {
      return item(ctx, [&](CheckedCall& self) {
        auto& call = static_cast<RegistrationCall&>(self);
        ++call.writes;
        if (runner_id <= 0) call.violation("wrote a registration without an id");
        if (jit_config.size == 0 || jit_config.size > RMGR_SECRET_MAX) {
          call.violation("wrote a registration without a usable secret");
          return;
        }
        call.registration = {runner_id, Secret(SecretView(jit_config))};
        call.record().know_secret(SecretView(jit_config).reveal());
      });
    }
    rmgr_registration_sink sink_{};
  };

  [[nodiscard]] const rmgr_gateway& functions() const { return instance_->table(); }
  [[nodiscard]] rmgr_instance* handle() const { return instance_->handle(); }
  std::unique_ptr<Instance> instance_;
};

}  // namespace rmgr::testing
