/* rmgr/abi/gateway.h - talks to one GitHub: demand, registration, inventory, deregistration.
 *
 * A gateway reports facts and decides nothing. It answers RMGR_OK only when its answer is complete: a listing of which
 * one page failed is an error, never a shorter list. Rate limits are RMGR_E_RETRY with retry_after_ms. */
#ifndef RMGR_ABI_GATEWAY_H
#define RMGR_ABI_GATEWAY_H

#include "rmgr/abi/entry.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RMGR_INTERFACE_GATEWAY "rmgr.gateway/1"

/* A job that waits or runs. Only queued jobs are demand; the gateway reports each job once, latest attempt only. */
#define RMGR_JOB_QUEUED 1
#define RMGR_JOB_IN_PROGRESS 2
typedef struct rmgr_job {
  uint32_t struct_size;
  int32_t status; /* RMGR_JOB_* */
  int64_t id;
  int64_t run_id;
  rmgr_str repository; /* owner/repository */
  const rmgr_str *labels;
  size_t label_count;
  int64_t runner_group_id; /* 0 if not known */
  rmgr_str runner_name;    /* the runner that has it; empty if none */
} rmgr_job;
typedef struct rmgr_job_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void *ctx;
  rmgr_status(RMGR_CALL *write)(void *ctx, const rmgr_job *job);
} rmgr_job_sink;

/* One registered runner. */
typedef struct rmgr_runner {
  uint32_t struct_size;
  int32_t online; /* 1 if connected */
  int64_t id;
  int32_t busy; /* 1 if it runs a job */
  int32_t reserved;
  rmgr_str name;
} rmgr_runner;
typedef struct rmgr_runner_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void *ctx;
  rmgr_status(RMGR_CALL *write)(void *ctx, const rmgr_runner *runner);
} rmgr_runner_sink;

/* What to register. */
typedef struct rmgr_registration_request {
  uint32_t struct_size;
  uint32_t reserved;
  rmgr_str target; /* owner/repository or an organization */
  rmgr_str name;   /* at most 64 characters */
  int64_t runner_group_id;
  const rmgr_str *labels;
  size_t label_count;
  rmgr_str work_folder;
} rmgr_registration_request;

/* Receives the one registration; the secret is the encoded just-in-time configuration. */
typedef struct rmgr_registration_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void *ctx;
  rmgr_status(RMGR_CALL *write)(void *ctx, int64_t runner_id, rmgr_secret jit_config);
} rmgr_registration_sink;

/* What the last answer of a demand call said about the pace of asking. */
typedef struct rmgr_demand_result {
  uint32_t struct_size;
  int32_t unchanged;          /* 1 if nothing changed since the last call (it cost no quota) */
  int64_t quota_left_percent; /* 0 to 100, or -1 if unknown */
} rmgr_demand_result;

/* Ordinary lane: demand, inventory, register_runner. Control lane: deregister.
 *  demand          writes queued and running jobs of the target; fills *result
 *  inventory       writes every registered runner of the target
 *  register_runner asks once for a just-in-time registration. RMGR_E_EXISTS: the name is taken; RMGR_E_NOT_FOUND,
 *                  RMGR_E_INVALID and RMGR_E_DENIED are final; after RMGR_E_UNREACHABLE, RMGR_E_BAD_RESPONSE,
 *                  RMGR_E_DEADLINE and RMGR_E_CANCELLED the registration may exist all the same
 *  deregister      RMGR_OK: it is not registered any more (also if it never was); RMGR_E_BUSY: it runs a job, keep it */
typedef struct rmgr_gateway {
  rmgr_component component; /* component.struct_size is the size of this whole struct */
  rmgr_status(RMGR_CALL *demand)(rmgr_instance *, const rmgr_call *, rmgr_str target, const rmgr_job_sink *,
                                 rmgr_demand_result *result, const rmgr_error *);
  rmgr_status(RMGR_CALL *inventory)(rmgr_instance *, const rmgr_call *, rmgr_str target, const rmgr_runner_sink *,
                                    const rmgr_error *);
  rmgr_status(RMGR_CALL *register_runner)(rmgr_instance *, const rmgr_call *, const rmgr_registration_request *,
                                          const rmgr_registration_sink *, const rmgr_error *);
  rmgr_status(RMGR_CALL *deregister)(rmgr_instance *, const rmgr_call *, rmgr_str target, int64_t runner_id,
                                     const rmgr_error *);
} rmgr_gateway;

#ifdef __cplusplus
}
#endif
#endif
