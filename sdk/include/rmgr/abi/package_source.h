/* rmgr/abi/package_source.h - answers which runner package is current, and delivers its bytes. */
#ifndef RMGR_ABI_PACKAGE_SOURCE_H
#define RMGR_ABI_PACKAGE_SOURCE_H

#include "rmgr/abi/entry.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RMGR_INTERFACE_PACKAGE_SOURCE "rmgr.package-source/1"

/* `target` is owner/repository or an organization; a source that serves everybody ignores it.
 * `os` is linux, osx or win; `architecture` is x64, arm64 or arm. */
typedef struct rmgr_package_query {
  uint32_t struct_size;
  uint32_t reserved;
  rmgr_str target;
  rmgr_str os;
  rmgr_str architecture;
} rmgr_package_query;

/* One package on offer.
 *  version   2 to 4 numbers with dots
 *  filename  the archive's name; its ending says the format (.tar.gz or .zip)
 *  sha256    64 lower-case hex digits of the archive, or empty if the source publishes none (the host then refuses it
 *            unless the operator pinned one)
 *  size      bytes, or -1 if unknown
 *  ref       what fetch wants; opaque to the host, without secrets, at most 4096 bytes */
typedef struct rmgr_package {
  uint32_t struct_size;
  uint32_t reserved;
  rmgr_str version;
  rmgr_str filename;
  rmgr_str sha256;
  int64_t size;
  rmgr_str ref;
} rmgr_package;

typedef struct rmgr_package_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void *ctx;
  rmgr_status(RMGR_CALL *write)(void *ctx, const rmgr_package *package);
} rmgr_package_sink;

/* The receiving end of one fetch. `begin` comes once, before the first chunk.
 *  total      bytes of the whole archive, -1 if unknown
 *  validator  what proves on a later resume that it is still the same file; may be empty
 *  restarted  1 if the bytes start at 0 although an offset was asked for
 *  chunk      at most 1 MiB each */
typedef struct rmgr_fetch_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void *ctx;
  rmgr_status(RMGR_CALL *begin)(void *ctx, int64_t total, rmgr_str validator, int32_t restarted);
  rmgr_status(RMGR_CALL *chunk)(void *ctx, const uint8_t *bytes, size_t size);
} rmgr_fetch_sink;

/* Ordinary lane: both.
 *  catalog  writes every package on offer for the query; none is RMGR_OK with no write
 *  fetch    streams the archive named by `ref` from `offset` on; `validator` is what an earlier begin gave, or empty */
typedef struct rmgr_package_source {
  rmgr_component component; /* component.struct_size is the size of this whole struct */
  rmgr_status(RMGR_CALL *catalog)(rmgr_instance *, const rmgr_call *, const rmgr_package_query *,
                                  const rmgr_package_sink *, const rmgr_error *);
  rmgr_status(RMGR_CALL *fetch)(rmgr_instance *, const rmgr_call *, rmgr_str ref, int64_t offset, rmgr_str validator,
                                const rmgr_fetch_sink *, const rmgr_error *);
} rmgr_package_source;

#ifdef __cplusplus
}
#endif
#endif
