// What the counting library and the benchmark agree on.
#pragma once

#define RMGR_SYNC_COUNTS "RMGR_BENCH_SYNC_COUNTS"
enum { RMGR_SYNC_ALL, RMGR_SYNC_JOURNAL, RMGR_SYNC_FAILED, RMGR_SYNC_NUMBERS };
