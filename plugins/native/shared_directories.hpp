// What a job account leaves where every account may make files. Only for accounts that nothing else uses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rmgr/call.hpp"

namespace native {

// The machine's directories for everybody's files and for named IPC objects.
std::vector<std::string> shared_directories();

// What holds all that cron and at start later, and the directories in which accounts have files there.
std::vector<std::string> schedule_spools();
std::vector<std::string> schedule_directories();

// Removes what the account owns directly in these directories, with everything below it, however deep and
// whoever owns that. Never follows a link. Throws `retry` when something stays; what was removed until then
// is gone.
void remove_files(const rmgr::Call& call, std::uint32_t uid, const std::vector<std::string>& directories);

// Removes the account's POSIX message queues, where the kernel lets this agent see them (Linux 5.2, as root);
// elsewhere they are found only in a mounted /dev/mqueue.
void remove_message_queues(const rmgr::Call& call, std::uint32_t uid);

}  // namespace native
