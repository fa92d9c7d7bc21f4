/* rmgr/abi/execution_provider.h - runs one attempt: a native process, a container, a virtual machine.
 *
 * Life of one attempt at a provider:
 *   prepare -> [hold ->] start -> inspect ... -> stop -> remove
 * A crash of the daemon may come between any two; afterwards only inspect, recover, stop and remove are called for the
 * old attempt. Every operation but start is idempotent for one (attempt, generation). */
#ifndef RMGR_ABI_EXECUTION_PROVIDER_H
#define RMGR_ABI_EXECUTION_PROVIDER_H

#include "rmgr/abi/entry.h"
#include "rmgr/abi/host.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RMGR_INTERFACE_EXECUTION_PROVIDER "rmgr.execution-provider/1"

/* Flags of the component, beside RMGR_COMPONENT_*. */
#define RMGR_PROVIDER_ISOLATED 256u /* the runner cannot touch the host: containers, virtual machines */
#define RMGR_PROVIDER_HOLDS 512u    /* start has two steps: hold makes a durable identity, start releases it */

/* What a policy asks for. Zero means "no wish". Text members may be empty. */
typedef struct rmgr_profile {
  uint32_t struct_size;
  uint32_t reserved;
  rmgr_str policy;
  rmgr_str image;
  int64_t cpu_milli;
  int64_t memory_bytes;
  int64_t disk_bytes;
  int64_t pids;
} rmgr_profile;

/* The attempt that a call is about. The first five members are its identity and never change for one attempt. */
typedef struct rmgr_allocation {
  uint32_t struct_size;
  uint32_t reserved;
  rmgr_str host;       /* installation id of this daemon */
  rmgr_str attempt;    /* UUID */
  rmgr_str generation; /* 32 hex digits, minted with the attempt */
  rmgr_str image;      /* digest-pinned; empty for native */
  rmgr_str policy;
  rmgr_str runner_name;
  rmgr_str runtime;     /* absolute directory of the attempt */
  rmgr_str package;     /* the unpacked runner package: the runtime itself, or a read-only tree beside it */
  rmgr_str environment; /* id that prepare returned; empty before */
  rmgr_process_identity process; /* identity that hold returned; pid 0 before */
  rmgr_profile profile;
  int64_t stop_grace_ms;
} rmgr_allocation;

/* probe: is this provider able to run that profile right now? */
#define RMGR_PROBE_READY 0
#define RMGR_PROBE_UNSUPPORTED 1
#define RMGR_PROBE_NOT_INSTALLED 2
#define RMGR_PROBE_PERMISSION_DENIED 3
#define RMGR_PROBE_IMAGE_UNAVAILABLE 4
#define RMGR_PROBE_DISK_QUOTA_UNAVAILABLE 5
#define RMGR_PROBE_DEGRADED 6
typedef struct rmgr_probe {
  uint32_t struct_size;
  int32_t readiness; /* RMGR_PROBE_*; only READY admits launches */
  rmgr_str remedy;   /* one sentence; empty when ready */
  rmgr_str note;     /* what the operator should know although it is ready, for example a missing protection */
  int32_t package_inside; /* 1: environments of this profile have the runner package already, so none is made ready */
  int32_t reserved;
} rmgr_probe;
typedef struct rmgr_probe_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void *ctx;
  rmgr_status(RMGR_CALL *write)(void *ctx, const rmgr_probe *probe);
} rmgr_probe_sink;

/* inspect: what is there now. */
#define RMGR_ENVIRONMENT_PREPARED 1 /* exists and never ran */
#define RMGR_ENVIRONMENT_STARTING 2
#define RMGR_ENVIRONMENT_RUNNING 3
#define RMGR_ENVIRONMENT_EXITED 4
#define RMGR_ENVIRONMENT_MISSING 5 /* provably not there */
typedef struct rmgr_environment_state {
  uint32_t struct_size;
  int32_t state;     /* RMGR_ENVIRONMENT_* */
  int32_t exit_code; /* of the listener, when exited; -1 if it was ended by a signal */
  int32_t clean;     /* 1 if the listener itself exited with 0 */
  int32_t out_of_memory;
  int32_t reserved;
} rmgr_environment_state;

/* An identity that a resource itself carries, for enumerate_owned. */
typedef struct rmgr_owned {
  uint32_t struct_size;
  uint32_t reserved;
  rmgr_str host;
  rmgr_str attempt;
  rmgr_str generation;
  rmgr_str image;
  rmgr_str environment;
} rmgr_owned;
typedef struct rmgr_owned_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void *ctx;
  rmgr_status(RMGR_CALL *write)(void *ctx, const rmgr_owned *owned);
} rmgr_owned_sink;

/* How start went, also when it failed. */
typedef struct rmgr_start_result {
  uint32_t struct_size;
  int32_t process_existed; /* 1: the secret may have been used, so it is never tried again */
  int64_t live_pid;        /* above 0: a process that clean-up could not prove dead */
} rmgr_start_result;

/* Ordinary lane: probe, resolve, prepare, hold, start. Control lane: inspect, recover, stop, remove, enumerate_owned.
 *  probe      cheap and without side effects
 *  resolve    isolated: writes the digest-pinned image for the profile. Native: writes nothing
 *  prepare    creates or validates everything but the running listener; writes at most one environment id
 *  hold       only with RMGR_PROVIDER_HOLDS: makes the held process and reports its identity
 *  start      starts the listener with the one-time secret, once; fills *result always
 *  inspect    fills *state; a failed look is an error, never MISSING
 *  recover    finds the environment of an allocation without an environment id; writes each candidate
 *  stop       RMGR_OK: provably not running; RMGR_E_BUSY: still running
 *  remove     RMGR_OK: nothing is left (also if nothing was there); RMGR_E_RETRY: deferred, with the reason; with a
 *             retry-after it is called again that much later, otherwise after 30 s, 60 s, ...
 *  enumerate_owned  every resource that carries this host id; RMGR_OK only if the list is complete
 *  owns       1 if the resource `environment` carries exactly the allocation's identity
 *  diagnostics  up to 16 lines of the provider's own closed vocabulary, for a record of a failed attempt */
typedef struct rmgr_execution_provider {
  rmgr_component component; /* component.struct_size is the size of this whole struct */
  rmgr_status(RMGR_CALL *probe)(rmgr_instance *, const rmgr_call *, const rmgr_profile *, const rmgr_probe_sink *,
                                const rmgr_error *);
  rmgr_status(RMGR_CALL *resolve)(rmgr_instance *, const rmgr_call *, const rmgr_profile *, const rmgr_text_sink *,
                                  const rmgr_error *);
  rmgr_status(RMGR_CALL *prepare)(rmgr_instance *, const rmgr_call *, const rmgr_allocation *, const rmgr_text_sink *,
                                  const rmgr_error *);
  rmgr_status(RMGR_CALL *hold)(rmgr_instance *, const rmgr_call *, const rmgr_allocation *, const rmgr_identity_sink *,
                               const rmgr_error *);
  rmgr_status(RMGR_CALL *start)(rmgr_instance *, const rmgr_call *, const rmgr_allocation *, rmgr_secret,
                                rmgr_start_result *result, const rmgr_error *);
  rmgr_status(RMGR_CALL *inspect)(rmgr_instance *, const rmgr_call *, const rmgr_allocation *,
                                  rmgr_environment_state *state, const rmgr_error *);
  rmgr_status(RMGR_CALL *recover)(rmgr_instance *, const rmgr_call *, const rmgr_allocation *, const rmgr_owned_sink *,
                                  const rmgr_error *);
  rmgr_status(RMGR_CALL *stop)(rmgr_instance *, const rmgr_call *, const rmgr_allocation *, int64_t grace_ms,
                               const rmgr_error *);
  rmgr_status(RMGR_CALL *remove)(rmgr_instance *, const rmgr_call *, const rmgr_allocation *, const rmgr_error *);
  rmgr_status(RMGR_CALL *enumerate_owned)(rmgr_instance *, const rmgr_call *, rmgr_str host, const rmgr_owned_sink *,
                                          const rmgr_error *);
  int32_t(RMGR_CALL *owns)(rmgr_instance *, const rmgr_call *, const rmgr_allocation *, rmgr_str environment);
  rmgr_status(RMGR_CALL *diagnostics)(rmgr_instance *, const rmgr_call *, const rmgr_allocation *,
                                      const rmgr_text_sink *, const rmgr_error *);
} rmgr_execution_provider;

#ifdef __cplusplus
}
#endif
#endif
