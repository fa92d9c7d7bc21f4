/* rmgr/abi/host.h - services that the host offers to plugins, each found by id through get_service. All are [any].
 * A service struct stays valid as long as the host object it came from. */
#ifndef RMGR_ABI_HOST_H
#define RMGR_ABI_HOST_H

#include "rmgr/abi/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- log: one line for the operator. Never a secret, never raw output of a child, never a name a job chose. */
#define RMGR_SERVICE_LOG "rmgr.log/1"
#define RMGR_LOG_DEBUG 0
#define RMGR_LOG_INFO 1
#define RMGR_LOG_WARNING 2
#define RMGR_LOG_ERROR 3
typedef struct rmgr_log_service {
  uint32_t struct_size;
  uint32_t reserved;
  void *ctx;
  int32_t(RMGR_CALL *enabled)(void *ctx, int32_t level);
  void(RMGR_CALL *write)(void *ctx, int32_t level, rmgr_str message);
} rmgr_log_service;

/* --- clock: wall time in milliseconds since 1970 UTC, and milliseconds since boot including suspend. Sleep ends early
 * with RMGR_E_CANCELLED or RMGR_E_DEADLINE as the call says. Virtual in tests. */
#define RMGR_SERVICE_CLOCK "rmgr.clock/1"
typedef struct rmgr_clock_service {
  uint32_t struct_size;
  uint32_t reserved;
  void *ctx;
  int64_t(RMGR_CALL *wall_ms)(void *ctx);
  int64_t(RMGR_CALL *boot_ms)(void *ctx);
  rmgr_status(RMGR_CALL *sleep_ms)(void *ctx, const rmgr_call *call, int64_t ms);
} rmgr_clock_service;

/* --- secrets: resolves a reference of the configuration (file:PATH, env:NAME, credential:NAME) anew at each use, so
 * that a rotated file is seen. The value is handed to `use` and wiped when `use` returns. Trailing white space of the
 * value is trimmed; a value with control characters inside, an empty one, and a file that others can read are refused
 * with RMGR_E_DENIED or RMGR_E_INVALID. Answers what `use` answered otherwise. */
#define RMGR_SERVICE_SECRETS "rmgr.secrets/1"
typedef struct rmgr_secrets_service {
  uint32_t struct_size;
  uint32_t reserved;
  void *ctx;
  rmgr_status(RMGR_CALL *with_secret)(void *ctx, rmgr_str reference,
                                      rmgr_status(RMGR_CALL *use)(void *arg, rmgr_secret value), void *arg,
                                      const rmgr_error *error);
} rmgr_secrets_service;

/* --- kv: a small durable map of this instance; put and remove have reached the disk when they return. Together at
 * most 64 KiB of keys and values; a key is 1 to 128 bytes. RMGR_E_NOT_FOUND from get, RMGR_E_INVALID past the bounds.
 * list writes every key that begins with `prefix`. */
#define RMGR_SERVICE_KV "rmgr.kv/1"
typedef struct rmgr_kv_service {
  uint32_t struct_size;
  uint32_t reserved;
  void *ctx;
  rmgr_status(RMGR_CALL *get)(void *ctx, rmgr_str key, const rmgr_text_sink *value);
  rmgr_status(RMGR_CALL *put)(void *ctx, rmgr_str key, rmgr_str value);
  rmgr_status(RMGR_CALL *remove)(void *ctx, rmgr_str key);
  rmgr_status(RMGR_CALL *list)(void *ctx, rmgr_str prefix, const rmgr_text_sink *keys);
} rmgr_kv_service;

/* --- work directory: an absolute path of a directory (0700) of this instance alone, made at the first call. What is
 * in it survives a restart. */
#define RMGR_SERVICE_WORK_DIRECTORY "rmgr.work-directory/1"
typedef struct rmgr_work_directory_service {
  uint32_t struct_size;
  uint32_t reserved;
  void *ctx;
  rmgr_status(RMGR_CALL *path)(void *ctx, const rmgr_text_sink *path, const rmgr_error *error);
} rmgr_work_directory_service;

/* --- thread check: 1 if the calling thread runs a call of this instance right now. For assertions in plugins. */
#define RMGR_SERVICE_THREAD_CHECK "rmgr.thread-check/1"
typedef struct rmgr_thread_check_service {
  uint32_t struct_size;
  uint32_t reserved;
  void *ctx;
  int32_t(RMGR_CALL *in_call)(void *ctx);
} rmgr_thread_check_service;

/* --- process: held children that outlive the daemon.
 * spawn_held starts a small supervisor (the shim) that waits at a gate; nothing of `spec` runs yet. It reports the
 * identity, which the host makes durable. release sends one secret through the gate; the shim then becomes `uid` and
 * `gid`, enters `directory` and executes argv[0] with exactly the environment given plus secret_name=secret. If the
 * gate is not released within 30 s, or the daemon dies before, the shim ends without running anything.
 * The shim reaps all descendants, ends what is left when the main child ends, and keeps an exit record that only the
 * daemon's account can write, so inspect also answers for a child whose daemon was replaced. */
#define RMGR_SERVICE_PROCESS "rmgr.process/1"

/* Names one process for ever: a pid alone may be reused. start_token comes from the kernel; boot_id changes at boot. */
typedef struct rmgr_process_identity {
  uint32_t struct_size;
  uint32_t reserved;
  int64_t pid;
  uint64_t start_token;
  rmgr_str boot_id;
} rmgr_process_identity;

/* A limit of each process of a tree, as setrlimit(2) has them: open_files, core, file_size, processes, address_space,
 * data, stack, locked_memory (bytes or counts) or cpu_seconds. It only ever lowers: the smaller of `value` and of the
 * hard limit that the daemon has becomes both the soft and the hard limit. */
typedef struct rmgr_resource_limit {
  uint32_t struct_size;
  uint32_t reserved;
  rmgr_str name;
  uint64_t value;
} rmgr_resource_limit;

/* A directory that the tree sees instead of `target`: the directory `backing`, or an empty one in memory if that is
 * empty. Neither may lead through a symbolic link. */
typedef struct rmgr_private_directory {
  uint32_t struct_size;
  uint32_t reserved;
  rmgr_str target;
  rmgr_str backing;
} rmgr_private_directory;

#define RMGR_PROCESS_NO_NEW_PRIVILEGES 1u /* set-user-id programs and file capabilities give the tree nothing */

typedef struct rmgr_process_spec {
  uint32_t struct_size;
  uint32_t time_limit_ms; /* the shim kills the whole tree this long after the start, daemon or not; 0: never */
  rmgr_str key; /* names the exit record and the cgroup: the attempt id */
  const rmgr_str *argv; /* argv[0] is an absolute path */
  size_t argc;
  const rmgr_str *environment; /* KEY=VALUE; the whole environment */
  size_t environment_count;
  rmgr_str directory;
  int64_t uid; /* -1: the daemon's own account */
  int64_t gid; /* -1: the daemon's own group */
  /* What contains the tree. What cannot be enforced refuses the process: limits with RMGR_E_UNSUPPORTED at spawn_held,
   * the rest with RMGR_E_INVALID at release, before anything ran. Ask `abilities` first. */
  int64_t cpu_milli; /* thousandths of a core for the whole tree; 0: no limit */
  int64_t memory_bytes; /* of the whole tree, without swap; 0: no limit */
  int64_t pids; /* processes and threads of the whole tree; 0: no limit */
  int32_t nice; /* -20 to 19; 0: as the daemon */
  uint32_t flags; /* RMGR_PROCESS_NO_NEW_PRIVILEGES */
  const rmgr_resource_limit *resource_limits; /* at most 16, each name once */
  size_t resource_limit_count;
  const rmgr_str *hidden_directories; /* at most 64; seen empty and closed. One that does not exist is none */
  size_t hidden_directory_count;
  const rmgr_private_directory *private_directories; /* at most 64, before the hidden ones */
  size_t private_directory_count;
} rmgr_process_spec;

/* What the service can do on this machine. */
#define RMGR_PROCESS_CAN_GROUP 1u       /* nothing of a tree leaves its group, and all of it ends at once */
#define RMGR_PROCESS_CAN_LIMIT_CPU 2u
#define RMGR_PROCESS_CAN_LIMIT_MEMORY 4u
#define RMGR_PROCESS_CAN_LIMIT_PIDS 8u
#define RMGR_PROCESS_CAN_CHANGE_ACCOUNT 16u
#define RMGR_PROCESS_CAN_ARRANGE_DIRECTORIES 32u /* hidden and private directories */

#define RMGR_PROCESS_PREPARED 1 /* held at the gate */
#define RMGR_PROCESS_RUNNING 2
#define RMGR_PROCESS_EXITED 3  /* an exit record exists and nothing of the tree is left */
#define RMGR_PROCESS_MISSING 4 /* gone, and it never ran */
typedef struct rmgr_process_state {
  uint32_t struct_size;
  int32_t state;     /* RMGR_PROCESS_* */
  int32_t exit_code; /* valid when exited and signal is 0 */
  int32_t signal;    /* the signal that ended the main child, 0 if none */
  int32_t out_of_memory; /* 1 if the kernel's out-of-memory killer ended part of the tree */
  int32_t reserved;
} rmgr_process_state;

typedef struct rmgr_identity_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void *ctx;
  rmgr_status(RMGR_CALL *write)(void *ctx, const rmgr_process_identity *identity);
} rmgr_identity_sink;

/* release: RMGR_OK once the child executed; RMGR_E_INVALID if it could not (nothing ran); any other status means that a
 *          process may have existed. At most once for each key.
 * stop:    asks the tree to end, waits grace_ms, kills what is left. RMGR_OK when provably nothing is left (also when
 *          nothing was there), RMGR_E_BUSY when something still runs.
 * inspect: RMGR_E_RETRY when the state cannot be proven; never "missing" for what it cannot examine.
 * forget:  removes the exit record and the cgroup of a key whose tree is gone; RMGR_OK if there is none.
 * abilities: RMGR_PROCESS_CAN_*; they do not change while the daemon runs. */
typedef struct rmgr_process_service {
  uint32_t struct_size;
  uint32_t reserved;
  void *ctx;
  rmgr_status(RMGR_CALL *spawn_held)(void *ctx, const rmgr_call *call, const rmgr_process_spec *spec,
                                     const rmgr_identity_sink *identity, const rmgr_error *error);
  rmgr_status(RMGR_CALL *release)(void *ctx, const rmgr_call *call, rmgr_str key,
                                  const rmgr_process_identity *identity, rmgr_str secret_name, rmgr_secret secret,
                                  const rmgr_error *error);
  rmgr_status(RMGR_CALL *inspect)(void *ctx, const rmgr_call *call, rmgr_str key,
                                  const rmgr_process_identity *identity, rmgr_process_state *state,
                                  const rmgr_error *error);
  rmgr_status(RMGR_CALL *stop)(void *ctx, const rmgr_call *call, rmgr_str key, const rmgr_process_identity *identity,
                               int64_t grace_ms, const rmgr_error *error);
  rmgr_status(RMGR_CALL *forget)(void *ctx, rmgr_str key, const rmgr_error *error);
  uint32_t(RMGR_CALL *abilities)(void *ctx);
} rmgr_process_service;

#ifdef __cplusplus
}
#endif
#endif
