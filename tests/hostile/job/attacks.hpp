// What hostile jobs do. Each returns when there is nothing left to try, or never.
#pragma once

#include "hostile/job/report.hpp"

namespace hostile {

// --- to use up the machine
void fork_bomb(const Words& words);    // never returns
void memory_hog(const Words& words);   // until it is killed
void disk_filler(const Words& words);  // bytes, names, and files without a name
void ipc_hoarder(const Words& words);  // System V, message queues, shared memory

// --- to reach others; the words say where they are
void signaller(const Words& words);
void reader(const Words& words);         // journal, packages, tokens, other runtimes
void memory_reader(const Words& words);  // environments and memory of others
void kernel_tricks(const Words& words);  // mounts, namespaces, cgroups, priorities, accounts

// --- to leave something behind
void daemons(const Words& words);
void late_writer(const Words& words);  // goes on writing while it is cleaned
void stopper(const Words& words);      // stops everything of its account
void setuid_leaver(const Words& words);
void squatter(const Words& words);      // names in shared directories
void trap_layer(const Words& words);    // FIFOs, links and odd names in its runtime
void closed_doors(const Words& words);  // directories that nobody may enter, and deep ones

}  // namespace hostile
