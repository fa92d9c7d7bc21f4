// A gateway talks to one GitHub: demand, registration, inventory, deregistration. Derive from rmgr::Gateway;
// see component.hpp for what else the class needs.
//
// It reports facts and decides nothing. An answer must be complete: throw when one page of a listing failed,
// never return a shorter list. A rate limit is `retry` with retry_after.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rmgr/abi/gateway.h"
#include "rmgr/component.hpp"

namespace rmgr {

// A job that waits or runs. Each job once, its latest attempt only.
struct Job {
  bool queued = false;  // else in progress
  std::int64_t id = 0;
  std::int64_t run_id = 0;
  std::string repository;  // owner/repository
  std::vector<std::string> labels;
  std::int64_t runner_group_id = 0;  // 0 if not known
  std::string runner_name;           // the runner that has it; empty if none
};
struct Demand {
  std::vector<Job> jobs;                 // the whole list, also when it is unchanged
  bool unchanged = false;                // nothing changed since the last call, and asking cost no quota
  std::int64_t quota_left_percent = -1;  // 0 to 100, or -1 if unknown
};

struct Runner {
  std::int64_t id = 0;
  std::string name;
  bool online = false;
  bool busy = false;
};

// Views live as long as the call.
struct RegistrationRequest {
  std::string_view target;  // owner/repository or an organization
  std::string_view name;    // at most 64 characters
  std::int64_t runner_group_id = 0;
  std::vector<std::string_view> labels;
  std::string_view work_folder;
};
struct Registration {
  std::int64_t runner_id = 0;
  Secret jit_config;  // the encoded just-in-time configuration
};

class Gateway {
 public:
  virtual ~Gateway() = default;

  // --- ordinary lane
  // Queued and running jobs of the target.
  virtual Demand demand(const Call& call, std::string_view target) = 0;
  // Every registered runner of the target.
  virtual std::vector<Runner> inventory(const Call& call, std::string_view target) = 0;
  // Asks once for a just-in-time registration. `exists`: the name is taken. `not_found`, `invalid` and
  // `denied` are final. After `unreachable`, `bad_response`, `deadline` and `cancelled` the registration may
  // exist all the same.
  virtual Registration register_runner(const Call& call, const RegistrationRequest& request) = 0;

  // --- control lane
  // Returns when it is not registered any more (also if it never was); throws `busy` when it runs a job.
  virtual void deregister(const Call& call, std::string_view target, std::int64_t runner_id) = 0;
};

namespace detail {

struct GatewayCalls {
  static Gateway& of(rmgr_instance* self) noexcept { return instance<Gateway>(self); }

  static rmgr_status RMGR_CALL demand(rmgr_instance* self, const rmgr_call* call, rmgr_str target,
                                      const rmgr_job_sink* sink, rmgr_demand_result* result,
                                      const rmgr_error* error) noexcept {
    return guard(error, [&] {
      const Demand answer = of(self).demand(Call(call), from_abi(target));
      for (const Job& job : answer.jobs) {
        const std::vector<rmgr_str> labels = views(job.labels);
        rmgr_job item{};
        item.struct_size = size_of<rmgr_job>();
        item.status = job.queued ? RMGR_JOB_QUEUED : RMGR_JOB_IN_PROGRESS;
        item.id = job.id;
        item.run_id = job.run_id;
        item.repository = to_abi(job.repository);
        item.labels = labels.data();
        item.label_count = labels.size();
        item.runner_group_id = job.runner_group_id;
        item.runner_name = to_abi(job.runner_name);
        expect_taken(sink->write(sink->ctx, &item));
      }
      result->unchanged = answer.unchanged ? 1 : 0;
      result->quota_left_percent = answer.quota_left_percent;
    });
  }
  static rmgr_status RMGR_CALL inventory(rmgr_instance* self, const rmgr_call* call, rmgr_str target,
                                         const rmgr_runner_sink* sink, const rmgr_error* error) noexcept {
    return guard(error, [&] {
      for (const Runner& runner : of(self).inventory(Call(call), from_abi(target))) {
        const rmgr_runner item{
            size_of<rmgr_runner>(), runner.online ? 1 : 0, runner.id, runner.busy ? 1 : 0, 0,
            to_abi(runner.name)};
        expect_taken(sink->write(sink->ctx, &item));
      }
    });
  }
  static rmgr_status RMGR_CALL register_runner(rmgr_instance* self, const rmgr_call* call,
                                               const rmgr_registration_request* in,
                                               const rmgr_registration_sink* sink,
                                               const rmgr_error* error) noexcept {
    return guard(error, [&] {
      RegistrationRequest request;
      request.target = from_abi(in->target);
      request.name = from_abi(in->name);
      request.runner_group_id = in->runner_group_id;
      for (std::size_t i = 0; i < in->label_count; ++i)
        request.labels.push_back(from_abi(in->labels[i]));
      request.work_folder = from_abi(in->work_folder);
      const Registration answer = of(self).register_runner(Call(call), request);
      expect_taken(sink->write(sink->ctx, answer.runner_id, answer.jit_config.view().abi()));
    });
  }
  static rmgr_status RMGR_CALL deregister(rmgr_instance* self, const rmgr_call* call, rmgr_str target,
                                          std::int64_t runner_id, const rmgr_error* error) noexcept {
    return guard(error, [&] { of(self).deregister(Call(call), from_abi(target), runner_id); });
  }
};

template <class T>
inline constexpr rmgr_gateway gateway_table{
    component<T, Gateway, rmgr_gateway>(), &GatewayCalls::demand,     &GatewayCalls::inventory,
    &GatewayCalls::register_runner,        &GatewayCalls::deregister,
};

}  // namespace detail
}  // namespace rmgr
