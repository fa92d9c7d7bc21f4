/* rmgr/abi/entry.h - what a plugin library exports, and how the host finds its components.
 *
 * A library exports one symbol, the constant object `rmgr_plugin_entry`. Its layout is fixed for ever, so that a host
 * of any version can read the versions before it runs a function of the plugin.
 *
 * Version rule: the major must equal the host's and need_host_minor must not exceed the host's minor. While the major
 * is 0 abi_minor must equal the host's minor, because nothing is promised yet.
 *
 * Order: load, check entry, init(host), get_interface(id) and create(...) any number of times, destroy(...) of every
 * instance, deinit(), and then the library stays mapped until the process ends: it is never unloaded. */
#ifndef RMGR_ABI_ENTRY_H
#define RMGR_ABI_ENTRY_H

#include "rmgr/abi/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RMGR_PLUGIN_MAGIC 0x524D4752u /* "RMGR" */

/* What the whole library gets from the host at init; the pointer stays valid until deinit returns.
 * get_service answers a struct of host.h by its id, or null if this host does not offer it. [any] */
typedef struct rmgr_host {
  uint32_t struct_size;
  uint16_t abi_major;
  uint16_t abi_minor;
  void *ctx;
  const void *(RMGR_CALL *get_service)(void *ctx, const char *id);
} rmgr_host;

/* Who the library is. `interfaces` ends with a null pointer and lists the ids that get_interface answers. `id` is
 * lower-case letters, digits and dashes and equals the manifest's id; `version` is MAJOR.MINOR.PATCH. */
typedef struct rmgr_descriptor {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  const char *id;
  const char *version;
  const char *vendor;
  const char *const *interfaces;
} rmgr_descriptor;

/* What one instance (one entry of the configuration) gets at create; valid until destroy returns.
 *  name          the instance's name in the configuration
 *  get_service   services whose calls are accounted to this instance (log lines carry its name, kv is its own).
 *                Use these rather than the library's after create. [any] */
typedef struct rmgr_instance_host {
  uint32_t struct_size;
  uint32_t reserved;
  void *ctx;
  rmgr_str name;
  const void *(RMGR_CALL *get_service)(void *ctx, const char *id);
} rmgr_instance_host;

/* An instance of a component; opaque to the host. */
typedef struct rmgr_instance rmgr_instance;

/* What each interface begins with: how to describe, make and unmake instances of the component.
 *  flags          RMGR_COMPONENT_* bits
 *  config_schema  the JSON Schema (the documented subset) of the component's configuration; a constant. [any]
 *  create         configuration arrives as JSON text that already satisfies the schema; secrets in it are references
 *                 for the secrets service, never values. On success *out is set. No network, no side effects. [serial]
 *  destroy        ends the instance; the host calls it once, after every call has returned. Must not fail. [serial] */
#define RMGR_COMPONENT_CONCURRENT 1u /* calls of one instance may overlap in any number */
typedef struct rmgr_component {
  uint32_t struct_size;
  uint32_t flags;
  rmgr_str(RMGR_CALL *config_schema)(void);
  rmgr_status(RMGR_CALL *create)(const rmgr_instance_host *host, rmgr_str config_json, rmgr_instance **out,
                                 const rmgr_error *error);
  void(RMGR_CALL *destroy)(rmgr_instance *instance);
} rmgr_component;

/* The exported object. Fixed for ever.
 *  init           [load] the library's one chance to refuse; keeps `host` until deinit
 *  deinit         [load] after the last instance was destroyed; joins every thread the library started
 *  get_interface  [any]  the interface struct for an id of the descriptor, null for any other id */
typedef struct rmgr_plugin_entry_t {
  uint32_t magic;
  uint16_t abi_major;
  uint16_t abi_minor;
  uint16_t need_host_minor;
  uint16_t reserved;
  uint32_t struct_size;
  const rmgr_descriptor *descriptor;
  rmgr_status(RMGR_CALL *init)(const rmgr_host *host, const rmgr_error *error);
  void(RMGR_CALL *deinit)(void);
  const void *(RMGR_CALL *get_interface)(const char *id);
} rmgr_plugin_entry_t;

RMGR_EXPORT extern const rmgr_plugin_entry_t rmgr_plugin_entry;

#ifdef __cplusplus
}
#endif
#endif
