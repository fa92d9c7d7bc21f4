#include "records.h"

#include <stdlib.h>
#include <string.h>

static const char prefix[] = "attempt.";
#define PREFIX (sizeof prefix - 1)

static int copy(rmgr_str from, char* to) {
  if (from.size > MOST_ID) return 0;
  if (from.size > 0) memcpy(to, from.data, from.size);
  to[from.size] = '\0';
  return 1;
}

int record_of(const rmgr_allocation* allocation, record* out) {
  return copy(allocation->host, out->host) && copy(allocation->attempt, out->attempt) &&
         copy(allocation->generation, out->generation);
}

int record_equal(const record* a, const record* b) {
  return strcmp(a->host, b->host) == 0 && strcmp(a->attempt, b->attempt) == 0 &&
         strcmp(a->generation, b->generation) == 0;
}

/* The key of an attempt, in `buffer`; empty if the attempt's id is too long for one. */
static rmgr_str key_of(rmgr_str attempt, char* buffer) {
  rmgr_str key;
  key.data = buffer;
  key.size = 0;
  if (attempt.size == 0 || attempt.size > MOST_ID - PREFIX) return key;
  memcpy(buffer, prefix, PREFIX);
  memcpy(buffer + PREFIX, attempt.data, attempt.size);
  key.size = PREFIX + attempt.size;
  return key;
}

/* Takes "HOST GENERATION" apart. A sink of ours, which the host calls while its value is there. */
static rmgr_status RMGR_CALL take_value(void* ctx, rmgr_str value) {
  record* out = ctx;
  rmgr_str host = value, generation = value;
  const char* space = value.size == 0 ? NULL : memchr(value.data, ' ', value.size);
  if (space == NULL) return RMGR_E_INTERNAL;
  host.size = (size_t)(space - value.data);
  generation.data = space + 1;
  generation.size = value.size - host.size - 1;
  return copy(host, out->host) && copy(generation, out->generation) ? RMGR_OK : RMGR_E_INTERNAL;
}

rmgr_status records_find(const rmgr_kv_service* kv, rmgr_str attempt, record* out) {
  char buffer[MOST_ID];
  rmgr_text_sink sink = {sizeof(rmgr_text_sink), 0, NULL, take_value};
  const rmgr_str key = key_of(attempt, buffer);
  sink.ctx = out;
  if (key.size == 0 || !copy(attempt, out->attempt)) return RMGR_E_INVALID;
  return kv->get(kv->ctx, key, &sink);
}

rmgr_status records_keep(const rmgr_kv_service* kv, const record* one) {
  char buffer[MOST_ID];
  char value[2 * MOST_ID + 2];
  rmgr_str attempt, text;
  attempt.data = one->attempt;
  attempt.size = strlen(one->attempt);
  strcpy(value, one->host);
  strcat(value, " ");
  strcat(value, one->generation);
  text.data = value;
  text.size = strlen(value);
  return kv->put(kv->ctx, key_of(attempt, buffer), text);
}

rmgr_status records_drop(const rmgr_kv_service* kv, rmgr_str attempt) {
  char buffer[MOST_ID];
  const rmgr_status status = kv->remove(kv->ctx, key_of(attempt, buffer));
  return status == RMGR_E_NOT_FOUND ? RMGR_OK : status;
}

/* The keys of a listing, copied: the store is not asked again while it still writes. */
typedef struct keys {
  char (*items)[MOST_ID + 1];
  size_t count;
} keys;

static rmgr_status RMGR_CALL take_key(void* ctx, rmgr_str key) {
  keys* all = ctx;
  void* more;
  if (key.size < PREFIX || key.size > MOST_ID) return RMGR_E_INTERNAL;
  more = realloc(all->items, (all->count + 1) * sizeof *all->items);
  if (more == NULL) return RMGR_E_RETRY;
  all->items = more;
  return copy(key, all->items[all->count++]) ? RMGR_OK : RMGR_E_INTERNAL;
}

rmgr_status records_each(const rmgr_kv_service* kv, rmgr_status (*each)(void* arg, const record* one),
                         void* arg) {
  keys all = {NULL, 0};
  rmgr_text_sink sink = {sizeof(rmgr_text_sink), 0, NULL, take_key};
  rmgr_str wanted;
  rmgr_status status;
  size_t i;
  sink.ctx = &all;
  wanted.data = prefix;
  wanted.size = PREFIX;
  status = kv->list(kv->ctx, wanted, &sink);
  for (i = 0; i < all.count && status == RMGR_OK; ++i) {
    record one;
    rmgr_str attempt;
    attempt.data = all.items[i] + PREFIX;
    attempt.size = strlen(attempt.data);
    status = records_find(kv, attempt, &one);
    /* It may have been removed since the keys were listed: the two lanes run side by side. */
    if (status == RMGR_E_NOT_FOUND)
      status = RMGR_OK;
    else if (status == RMGR_OK)
      status = each(arg, &one);
  }
  free(all.items);
  return status;
}
