/* rmgr/abi/warm_start.h - optional beside an execution provider: environments that wait for a job, nearly started.
 *
 * Life of a warm attempt at a provider:
 *   prepare -> warm -> (waits for minutes or hours) -> start -> inspect ... -> stop -> remove
 * A warm attempt has no registration and no secret until a job is there. It belongs to the instance that warmed it: when
 * the daemon ends in whatever way, what was warmed must end by itself without having started a listener. */
#ifndef RMGR_ABI_WARM_START_H
#define RMGR_ABI_WARM_START_H

#include "rmgr/abi/execution_provider.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Answered by get_interface, not listed among the descriptor's interfaces: it is no component of its own. Its instances
 * are those of rmgr.execution-provider/1. */
#define RMGR_INTERFACE_WARM_START "rmgr.warm-start/1"

/* Ordinary lane.
 *  warm  after prepare: does everything of start that needs no secret. Idempotent for one (attempt, generation). Until
 *        start, inspect says PREPARED while it waits, and EXITED or MISSING once it does not wait any more.
 *        RMGR_E_UNSUPPORTED: not with this instance's configuration */
typedef struct rmgr_warm_start {
  uint32_t struct_size;
  uint32_t reserved;
  rmgr_status(RMGR_CALL *warm)(rmgr_instance *, const rmgr_call *, const rmgr_allocation *, const rmgr_error *);
} rmgr_warm_start;

#ifdef __cplusplus
}
#endif
#endif
