/* rmgr/abi/base.h - the vocabulary of the plugin boundary. C99; every other ABI header includes it.
 *
 * Rules that hold for the whole boundary:
 *  - Only plain bytes and function pointers cross. No allocation, exception, C++ type or file descriptor does.
 *  - Every struct that crosses by pointer begins with `struct_size`, the size its maker compiled it with. Structs
 *    only grow at the end. A reader asks RMGR_HAS before it uses a member; what lies beyond the size is absent.
 *  - Strings are UTF-8 views without a terminating zero, borrowed for the duration of the call they travel in.
 *  - Results leave through sinks of the caller. One write is one item. A sink answers a status: on anything but
 *    RMGR_OK stop producing and return that status. A sink belongs to its call and dies with it.
 *  - Integers have fixed widths. There is no bool, enum, long, bit-field or variable argument list.
 *
 * Threads. Each function carries one of these tags:
 *  [any]     may be called from any thread at any time
 *  [serial]  the host never runs two calls of the same lane of one instance at once, unless the component set
 *            RMGR_COMPONENT_CONCURRENT; the ordinary lane and the control lane may run side by side
 *  [load]    called once, while the library is being loaded, from one thread
 * A plugin must leave the process as it found it: signal mask and handlers, working directory, umask, locale,
 * environment and standard streams belong to the host, and a plugin never waits for children that it did not start.
 */
#ifndef RMGR_ABI_BASE_H
#define RMGR_ABI_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define RMGR_CALL __cdecl
#define RMGR_EXPORT __declspec(dllexport)
#else
#define RMGR_CALL
#define RMGR_EXPORT __attribute__((visibility("default")))
#endif

/* While the major is 0 the minor must match exactly; from 1.0 on the growth rules of entry.h apply. */
#define RMGR_ABI_MAJOR 0
#define RMGR_ABI_MINOR 3

/* True if *p is large enough to hold member m of struct type T, and the member is set. For pointers and functions. */
#define RMGR_HAS(p, T, m) ((p)->struct_size >= offsetof(T, m) + sizeof((p)->m) && (p)->m != 0)

/* The closed set of outcomes. A status, not a text, decides what the host does next. */
typedef int32_t rmgr_status;
#define RMGR_OK 0
#define RMGR_E_INVALID 1      /* the request or configuration is wrong; trying again cannot help */
#define RMGR_E_NOT_FOUND 2    /* the named thing does not exist */
#define RMGR_E_EXISTS 3       /* the name is taken by something else */
#define RMGR_E_RETRY 4        /* failed for now; see the error's retry_after_ms */
#define RMGR_E_CANCELLED 5    /* the call's cancel was requested */
#define RMGR_E_DEADLINE 6     /* the call's deadline passed */
#define RMGR_E_UNSUPPORTED 7  /* this component cannot do that, ever */
#define RMGR_E_DENIED 8       /* the credential or account lacks a right; somebody must change something */
#define RMGR_E_UNAUTHORIZED 9 /* the credential itself was rejected */
#define RMGR_E_UNREACHABLE 10 /* the other side could not be reached, so nothing is known */
#define RMGR_E_BAD_RESPONSE 11 /* the other side answered nonsense, so nothing is known */
#define RMGR_E_BUSY 12        /* refused because it is in use, for example a runner that runs a job */
#define RMGR_E_INTERNAL 13    /* a defect */
#define RMGR_STATUS_LAST RMGR_E_INTERNAL

/* A borrowed UTF-8 view. `data` may be null when `size` is 0. */
typedef struct rmgr_str {
  const char *data;
  size_t size;
} rmgr_str;

/* A secret view of at most RMGR_SECRET_MAX bytes. A type of its own so that no log function accepts it. Wipe copies
 * after use; never put one into an identity, a message, a file, an argument or another process's environment than
 * the one it is meant for. */
#define RMGR_SECRET_MAX 65536u
typedef struct rmgr_secret {
  const char *bytes;
  size_t size;
} rmgr_secret;

/* Where a failing call explains itself. Set at most once, before returning a status other than RMGR_OK.
 * `message` is one sentence for an operator: what failed, why, what to do; no secret, no name that a job chose.
 * `retry_after_ms` is how long the other side asked to wait, 0 if it did not say. */
typedef struct rmgr_error {
  uint32_t struct_size;
  uint32_t reserved;
  void *ctx;
  void(RMGR_CALL *set)(void *ctx, rmgr_str message, int64_t retry_after_ms);
} rmgr_error;

/* A sink of text items. */
typedef struct rmgr_text_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void *ctx;
  rmgr_status(RMGR_CALL *write)(void *ctx, rmgr_str item);
} rmgr_text_sink;

/* The context of one call. Valid until the call returns; all functions are [any].
 *  correlation   a short id that ties log lines of one call together
 *  requested     1 once the host wants the call to end; return RMGR_E_CANCELLED soon, within a second
 *  remaining_ms  milliseconds until the deadline, at least 0; return RMGR_E_DEADLINE when it is reached
 *  on_cancel     registers fn(arg), called once on some thread when cancel is requested (at once if it already is).
 *                Answers a registration number above 0, or 0 if the table of registrations is full.
 *  off_cancel    removes a registration and waits for a running fn to end; never call it from fn itself. */
typedef struct rmgr_call {
  uint32_t struct_size;
  uint32_t reserved;
  void *ctx;
  rmgr_str correlation;
  int32_t(RMGR_CALL *requested)(void *ctx);
  int64_t(RMGR_CALL *remaining_ms)(void *ctx);
  uint64_t(RMGR_CALL *on_cancel)(void *ctx, void(RMGR_CALL *fn)(void *arg), void *arg);
  void(RMGR_CALL *off_cancel)(void *ctx, uint64_t registration);
} rmgr_call;

#ifdef __cplusplus
}
#endif
#endif
