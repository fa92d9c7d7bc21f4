/* Runs each attempt as a process of this machine under the daemon's own account, through the host's process
 * service. The twin of the C++ template, against the ABI alone. */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "records.h"
#include "settings.h"

#define JIT_VARIABLE "ACTIONS_RUNNER_INPUT_JITCONFIG"
#define NICE_PROGRAM "/usr/bin/nice"
#define MOST_PATH 4096

struct rmgr_instance {
  settings chosen;
  const rmgr_kv_service* kv;
  const rmgr_process_service* process;
};

static rmgr_str text(const char* from) {
  rmgr_str to;
  to.data = from;
  to.size = strlen(from);
  return to;
}

static int equal(rmgr_str a, const char* b) {
  return a.size == strlen(b) && (a.size == 0 || memcmp(a.data, b, a.size) == 0);
}

/* Explains a failure and answers its status. Every failing path ends here exactly once, or hands the error
 * object to one call of the host that does. */
static rmgr_status fail(const rmgr_error* error, rmgr_status status, const char* message) {
  if (error != NULL && error->set != NULL) error->set(error->ctx, text(message), 0);
  return status;
}

/* Holds back what a service explains, for a caller that may not want it or wants another status. */
typedef struct explanation {
  rmgr_error abi;
  char message[2001];
  int64_t retry_after_ms;
} explanation;

static void RMGR_CALL keep_explanation(void* ctx, rmgr_str message, int64_t retry_after_ms) {
  explanation* self = ctx;
  const size_t size = message.size < sizeof self->message ? message.size : sizeof self->message - 1;
  if (size > 0) memcpy(self->message, message.data, size);
  self->message[size] = '\0';
  self->retry_after_ms = retry_after_ms;
}

static const rmgr_error* begin_explanation(explanation* self) {
  self->abi.struct_size = sizeof self->abi;
  self->abi.reserved = 0;
  self->abi.ctx = self;
  self->abi.set = keep_explanation;
  strcpy(self->message, "The host's process service failed and did not say why.");
  self->retry_after_ms = 0;
  return &self->abi;
}

static rmgr_status pass_on(const explanation* self, const rmgr_error* error, rmgr_status status) {
  if (error != NULL && error->set != NULL) error->set(error->ctx, text(self->message), self->retry_after_ms);
  return status;
}

static rmgr_status storage_failed(const rmgr_error* error, rmgr_status status) {
  return fail(error, status,
              "The host's store of prepared attempts could not be used; see the daemon's log.");
}

/* Writes BASE/NAME into `out`; 0 if it is too long. */
static int join(char* out, rmgr_str base, const char* name) {
  const int size = snprintf(out, MOST_PATH, "%.*s/%s", (int)base.size, base.size == 0 ? "" : base.data, name);
  return base.size < MOST_PATH && size > 0 && size < MOST_PATH;
}

static void environment_of(const char* generation, char out[32]) {
  snprintf(out, 32, "template:%.8s", generation);
}

static int listener_of(const rmgr_allocation* allocation, char* out) {
  return join(out, allocation->package, "bin/Runner.Listener") && access(out, X_OK) == 0;
}

/* Whether exactly this attempt and generation was prepared. */
static rmgr_status is_prepared(const rmgr_instance* self, const rmgr_allocation* allocation, int* out) {
  record known, wanted;
  rmgr_status status = records_find(self->kv, allocation->attempt, &known);
  *out = 0;
  if (status == RMGR_E_NOT_FOUND) return RMGR_OK;
  if (status == RMGR_OK) *out = record_of(allocation, &wanted) && record_equal(&known, &wanted);
  return status;
}

static rmgr_status stop_quietly(const rmgr_instance* self, const rmgr_call* call,
                                const rmgr_allocation* allocation, int64_t grace_ms, explanation* why) {
  const rmgr_error* error = begin_explanation(why);
  if (allocation->process.pid == 0) return RMGR_OK;
  return self->process->stop(self->process->ctx, call, allocation->attempt, &allocation->process, grace_ms,
                             error);
}

/* --- the component */

static rmgr_str RMGR_CALL config_schema(void) { return text(settings_schema); }

static rmgr_status RMGR_CALL create(const rmgr_instance_host* host, rmgr_str config, rmgr_instance** out,
                                    const rmgr_error* error) {
  settings chosen;
  const char* wrong = settings_parse(config, &chosen);
  const rmgr_kv_service* kv = host->get_service(host->ctx, RMGR_SERVICE_KV);
  const rmgr_process_service* process = host->get_service(host->ctx, RMGR_SERVICE_PROCESS);
  rmgr_instance* self;
  if (wrong != NULL) return fail(error, RMGR_E_INVALID, wrong);
  if (kv == NULL || process == NULL)
    return fail(error, RMGR_E_UNSUPPORTED, "This host offers no processes or no storage to plugins.");
  self = malloc(sizeof *self);
  if (self == NULL)
    return fail(error, RMGR_E_RETRY, "The plugin ran out of memory; try again when some is free.");
  self->chosen = chosen;
  self->kv = kv;
  self->process = process;
  *out = self;
  return RMGR_OK;
}

static void RMGR_CALL destroy(rmgr_instance* self) { free(self); }

/* --- ordinary lane */

static rmgr_status RMGR_CALL probe(rmgr_instance* self, const rmgr_call* call, const rmgr_profile* profile,
                                   const rmgr_probe_sink* sink, const rmgr_error* error) {
  rmgr_probe answer;
  (void)call;
  (void)error;
  memset(&answer, 0, sizeof answer);
  answer.struct_size = sizeof answer;
  /* What cannot be promised is refused, never ignored. */
  if (profile->image.size != 0) {
    answer.readiness = RMGR_PROBE_IMAGE_UNAVAILABLE;
    answer.remedy = text("Processes have no image; remove image from the policy.");
  } else if (profile->disk_bytes != 0) {
    answer.readiness = RMGR_PROBE_DISK_QUOTA_UNAVAILABLE;
    answer.remedy = text("Processes have no disk limit; remove it from the policy.");
  } else if (profile->cpu_milli != 0 || profile->memory_bytes != 0 || profile->pids != 0) {
    answer.readiness = RMGR_PROBE_UNSUPPORTED;
    answer.remedy = text("This provider sets no limits; remove them from the policy.");
  } else if (self->chosen.nice != 0 && access(NICE_PROGRAM, X_OK) != 0) {
    answer.readiness = RMGR_PROBE_NOT_INSTALLED;
    answer.remedy = text("There is no /usr/bin/nice; install it or remove nice from the configuration.");
  } else {
    answer.readiness = RMGR_PROBE_READY;
    answer.note = text("jobs run as the agent's own account and can read what it can");
  }
  return sink->write(sink->ctx, &answer);
}

static rmgr_status make_private_directory(rmgr_str runtime, const char* name, const rmgr_error* error) {
  char path[MOST_PATH];
  if (!join(path, runtime, name))
    return fail(error, RMGR_E_INVALID, "The runtime directory's path is too long.");
  if ((mkdir(path, 0700) != 0 && errno != EEXIST) || chmod(path, 0700) != 0)
    return fail(error, RMGR_E_RETRY,
                "A directory of the attempt could not be made; look at the disk and its rights.");
  return RMGR_OK;
}

static rmgr_status RMGR_CALL prepare(rmgr_instance* self, const rmgr_call* call,
                                     const rmgr_allocation* allocation, const rmgr_text_sink* sink,
                                     const rmgr_error* error) {
  char listener[MOST_PATH];
  char environment[32];
  record wanted, known;
  rmgr_status status;
  (void)call;
  if (!listener_of(allocation, listener)) /* stops the launch before anything is registered */
    return fail(
        error, RMGR_E_INVALID,
        "The runner package has no executable bin/Runner.Listener; it is damaged or not a runner package.");
  if (!record_of(allocation, &wanted))
    return fail(error, RMGR_E_INVALID, "The attempt's identity is too long.");
  status = records_find(self->kv, allocation->attempt, &known);
  if (status == RMGR_OK && !record_equal(&known, &wanted))
    return fail(error, RMGR_E_EXISTS, "Another generation of this attempt is still here; remove it first.");
  /* Before anything else exists, so that nothing exists without it. */
  if (status == RMGR_E_NOT_FOUND) status = records_keep(self->kv, &wanted);
  if (status != RMGR_OK) return storage_failed(error, status);
  status = make_private_directory(allocation->runtime, "_home", error);
  if (status == RMGR_OK) status = make_private_directory(allocation->runtime, "_temp", error);
  if (status != RMGR_OK) return status;
  environment_of(wanted.generation, environment);
  return sink->write(sink->ctx, text(environment));
}

static rmgr_status RMGR_CALL hold(rmgr_instance* self, const rmgr_call* call,
                                  const rmgr_allocation* allocation, const rmgr_identity_sink* sink,
                                  const rmgr_error* error) {
  char listener[MOST_PATH], home[MOST_PATH + 8], temp[MOST_PATH + 8], path[MOST_SEARCH_PATH + 8], nice[8];
  rmgr_str argv[5], environment[5];
  rmgr_process_spec spec;
  int prepared = 0;
  const rmgr_status status = is_prepared(self, allocation, &prepared);
  if (status != RMGR_OK) return storage_failed(error, status);
  if (!prepared) return fail(error, RMGR_E_NOT_FOUND, "The attempt was not prepared, or is removed already.");
  if (!listener_of(allocation, listener))
    return fail(error, RMGR_E_INVALID, "The runner package has no executable bin/Runner.Listener any more.");
  if (allocation->runtime.size > MOST_PATH - 16)
    return fail(error, RMGR_E_INVALID, "The runtime directory's path is too long.");
  memset(&spec, 0, sizeof spec);
  spec.struct_size = sizeof spec;
  spec.key = allocation->attempt;
  spec.directory = allocation->runtime;
  spec.uid = -1;
  spec.gid = -1;
  spec.argv = argv;
  if (self->chosen.nice != 0) {
    snprintf(nice, sizeof nice, "%d", self->chosen.nice);
    argv[spec.argc++] = text(NICE_PROGRAM);
    argv[spec.argc++] = text("-n");
    argv[spec.argc++] = text(nice);
  }
  argv[spec.argc++] = text(listener);
  argv[spec.argc++] = text("run");
  /* The whole environment: nothing of the daemon's own reaches a job. */
  snprintf(path, sizeof path, "PATH=%s", self->chosen.search_path);
  snprintf(home, sizeof home, "HOME=%.*s/_home", (int)allocation->runtime.size, allocation->runtime.data);
  snprintf(temp, sizeof temp, "TMPDIR=%.*s/_temp", (int)allocation->runtime.size, allocation->runtime.data);
  spec.environment = environment;
  environment[spec.environment_count++] = text(path);
  environment[spec.environment_count++] = text("LANG=C.UTF-8");
  environment[spec.environment_count++] = text(home);
  environment[spec.environment_count++] = text(temp);
  if (geteuid() == 0) environment[spec.environment_count++] = text("RUNNER_ALLOW_RUNASROOT=1");
  return self->process->spawn_held(self->process->ctx, call, &spec, sink, error);
}

static rmgr_status RMGR_CALL start(rmgr_instance* self, const rmgr_call* call,
                                   const rmgr_allocation* allocation, rmgr_secret secret,
                                   rmgr_start_result* result, const rmgr_error* error) {
  explanation why, ignored;
  rmgr_status status;
  result->process_existed = 0;
  result->live_pid = 0;
  if (allocation->process.pid == 0)
    return fail(error, RMGR_E_INVALID, "A process is started only after it was held.");
  result->process_existed = 1;
  status = self->process->release(self->process->ctx, call, allocation->attempt, &allocation->process,
                                  text(JIT_VARIABLE), secret, begin_explanation(&why));
  if (status == RMGR_OK) return RMGR_OK;
  if (status == RMGR_E_INVALID || status == RMGR_E_NOT_FOUND) {
    /* Both mean that nothing ran: it could not be executed, or its gate had closed. */
    result->process_existed = 0;
  } else if (stop_quietly(self, call, allocation, 0, &ignored) != RMGR_OK) {
    result->live_pid = allocation->process.pid;
  }
  return pass_on(&why, error, status);
}

/* --- control lane */

static rmgr_status RMGR_CALL inspect(rmgr_instance* self, const rmgr_call* call,
                                     const rmgr_allocation* allocation, rmgr_environment_state* state,
                                     const rmgr_error* error) {
  rmgr_process_state process;
  rmgr_status status;
  if (allocation->process.pid == 0) {
    int prepared = 0;
    status = is_prepared(self, allocation, &prepared);
    if (status != RMGR_OK) return storage_failed(error, status);
    state->state = prepared ? RMGR_ENVIRONMENT_PREPARED : RMGR_ENVIRONMENT_MISSING;
    return RMGR_OK;
  }
  memset(&process, 0, sizeof process);
  process.struct_size = sizeof process;
  /* A look that fails is an error, and so never reads as "missing". */
  status = self->process->inspect(self->process->ctx, call, allocation->attempt, &allocation->process,
                                  &process, error);
  if (status != RMGR_OK) return status;
  switch (process.state) {
    case RMGR_PROCESS_PREPARED: state->state = RMGR_ENVIRONMENT_PREPARED; return RMGR_OK;
    case RMGR_PROCESS_RUNNING: state->state = RMGR_ENVIRONMENT_RUNNING; return RMGR_OK;
    case RMGR_PROCESS_MISSING: state->state = RMGR_ENVIRONMENT_MISSING; return RMGR_OK;
    case RMGR_PROCESS_EXITED: break;
    default:
      return fail(error, RMGR_E_INTERNAL,
                  "The host reported a process state that this plugin does not know.");
  }
  state->state = RMGR_ENVIRONMENT_EXITED;
  state->exit_code = process.signal == 0 ? process.exit_code : -1;
  state->clean = process.signal == 0 && process.exit_code == 0;
  state->out_of_memory = process.out_of_memory;
  return RMGR_OK;
}

static rmgr_status RMGR_CALL stop(rmgr_instance* self, const rmgr_call* call,
                                  const rmgr_allocation* allocation, int64_t grace_ms,
                                  const rmgr_error* error) {
  explanation why;
  const rmgr_status status = stop_quietly(self, call, allocation, grace_ms, &why);
  return status == RMGR_OK ? RMGR_OK : pass_on(&why, error, status);
}

static rmgr_status RMGR_CALL remove_attempt(rmgr_instance* self, const rmgr_call* call,
                                            const rmgr_allocation* allocation, const rmgr_error* error) {
  explanation why;
  record known, wanted;
  rmgr_status status = records_find(self->kv, allocation->attempt, &known);
  if (status != RMGR_OK && status != RMGR_E_NOT_FOUND) return storage_failed(error, status);
  if (status == RMGR_OK && !(record_of(allocation, &wanted) && record_equal(&known, &wanted)))
    return RMGR_OK; /* of this generation nothing is left */
  status = stop_quietly(self, call, allocation, 0, &why);
  if (status == RMGR_OK)
    status = self->process->forget(self->process->ctx, allocation->attempt, begin_explanation(&why));
  if (status != RMGR_OK) return pass_on(&why, error, status == RMGR_E_BUSY ? RMGR_E_RETRY : status);
  /* Last: until here a crash must find it again. */
  status = records_drop(self->kv, allocation->attempt);
  return status == RMGR_OK ? RMGR_OK : storage_failed(error, status);
}

static rmgr_status write_owned(const rmgr_owned_sink* sink, const record* one) {
  char environment[32];
  rmgr_owned item;
  memset(&item, 0, sizeof item);
  environment_of(one->generation, environment);
  item.struct_size = sizeof item;
  item.host = text(one->host);
  item.attempt = text(one->attempt);
  item.generation = text(one->generation);
  item.environment = text(environment);
  return sink->write(sink->ctx, &item);
}

static rmgr_status RMGR_CALL recover(rmgr_instance* self, const rmgr_call* call,
                                     const rmgr_allocation* allocation, const rmgr_owned_sink* sink,
                                     const rmgr_error* error) {
  record known, wanted;
  const rmgr_status status = records_find(self->kv, allocation->attempt, &known);
  (void)call;
  if (status == RMGR_E_NOT_FOUND) return RMGR_OK;
  if (status != RMGR_OK) return storage_failed(error, status);
  if (!record_of(allocation, &wanted) || !record_equal(&known, &wanted)) return RMGR_OK;
  return write_owned(sink, &known);
}

typedef struct listing {
  rmgr_str host;
  const rmgr_owned_sink* sink;
  rmgr_status refused; /* what the sink answered, if it wants no more */
} listing;

static rmgr_status list_one(void* arg, const record* one) {
  listing* to = arg;
  return equal(to->host, one->host) ? (to->refused = write_owned(to->sink, one)) : RMGR_OK;
}

static rmgr_status RMGR_CALL enumerate_owned(rmgr_instance* self, const rmgr_call* call, rmgr_str host,
                                             const rmgr_owned_sink* sink, const rmgr_error* error) {
  listing to;
  rmgr_status status;
  (void)call;
  to.host = host;
  to.sink = sink;
  to.refused = RMGR_OK;
  status = records_each(self->kv, list_one, &to);
  if (to.refused != RMGR_OK) return to.refused;
  return status == RMGR_OK ? RMGR_OK : storage_failed(error, status);
}

static int32_t RMGR_CALL owns(rmgr_instance* self, const rmgr_call* call, const rmgr_allocation* allocation,
                              rmgr_str environment) {
  char own[32];
  record wanted;
  int prepared = 0;
  (void)call;
  if (is_prepared(self, allocation, &prepared) != RMGR_OK || !prepared || !record_of(allocation, &wanted))
    return 0;
  environment_of(wanted.generation, own);
  return equal(environment, own);
}

static rmgr_status RMGR_CALL diagnostics(rmgr_instance* self, const rmgr_call* call,
                                         const rmgr_allocation* allocation, const rmgr_text_sink* sink,
                                         const rmgr_error* error) {
  /* Words of a closed vocabulary; never what a job or the runner wrote. */
  rmgr_environment_state state;
  const char* line = "process state unknown";
  (void)error;
  memset(&state, 0, sizeof state);
  state.struct_size = sizeof state;
  if (inspect(self, call, allocation, &state, NULL) == RMGR_OK) {
    switch (state.state) {
      case RMGR_ENVIRONMENT_PREPARED: line = "process held"; break;
      case RMGR_ENVIRONMENT_RUNNING: line = "process running"; break;
      case RMGR_ENVIRONMENT_EXITED: line = "process exited"; break;
      case RMGR_ENVIRONMENT_MISSING: line = "process never ran"; break;
      default: break;
    }
  }
  return sink->write(sink->ctx, text(line));
}

/* --- the library */

static const rmgr_execution_provider provider = {
    {sizeof(rmgr_execution_provider), RMGR_PROVIDER_HOLDS, config_schema, create, destroy},
    probe,
    NULL, /* resolve: processes have no image */
    prepare,
    hold,
    start,
    inspect,
    recover,
    stop,
    remove_attempt,
    enumerate_owned,
    owns,
    diagnostics,
};

static rmgr_status RMGR_CALL init(const rmgr_host* host, const rmgr_error* error) {
  (void)host;
  (void)error;
  return RMGR_OK;
}

static void RMGR_CALL deinit(void) {}

static const void* RMGR_CALL get_interface(const char* id) {
  return strcmp(id, RMGR_INTERFACE_EXECUTION_PROVIDER) == 0 ? &provider : NULL;
}

static const char* const interfaces[] = {RMGR_INTERFACE_EXECUTION_PROVIDER, NULL};
static const rmgr_descriptor descriptor = {
    sizeof(rmgr_descriptor), 0, RMGR_PLUGIN_ID, RMGR_PLUGIN_VERSION, RMGR_PLUGIN_VENDOR, interfaces};

const rmgr_plugin_entry_t rmgr_plugin_entry = {
    RMGR_PLUGIN_MAGIC,           RMGR_ABI_MAJOR, RMGR_ABI_MINOR, RMGR_ABI_MINOR, 0,
    sizeof(rmgr_plugin_entry_t), &descriptor,    init,           deinit,         get_interface};
