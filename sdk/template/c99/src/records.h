/* Which attempts an instance prepared and has not yet removed. Kept by the host on disk, so the answers
 * survive a restart of the daemon. */
#ifndef TEMPLATE_RECORDS_H
#define TEMPLATE_RECORDS_H

#include "rmgr/abi/execution_provider.h"

#define MOST_ID 128

typedef struct record {
  char host[MOST_ID + 1];
  char attempt[MOST_ID + 1];
  char generation[MOST_ID + 1];
} record;

/* 0 if a part of the identity is longer than any that the host makes. */
int record_of(const rmgr_allocation* allocation, record* out);
int record_equal(const record* a, const record* b);

/* RMGR_E_NOT_FOUND if there is none; out->attempt is set in any case. */
rmgr_status records_find(const rmgr_kv_service* kv, rmgr_str attempt, record* out);
/* On the disk when it returns. */
rmgr_status records_keep(const rmgr_kv_service* kv, const record* one);
rmgr_status records_drop(const rmgr_kv_service* kv, rmgr_str attempt);
/* Calls `each` for every record until it answers something else than RMGR_OK, and returns that. */
rmgr_status records_each(const rmgr_kv_service* kv, rmgr_status (*each)(void* arg, const record* one),
                         void* arg);

#endif
