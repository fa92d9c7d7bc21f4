// What an account still owns on this machine after its attempt. Only for accounts that nothing else uses.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rmgr/call.hpp"

namespace native {

// How many living processes have this real, effective or saved user.
std::size_t count_processes(std::uint32_t uid);

// Kills them until none is left; throws `retry` when some do not end within `patience`.
void end_processes(const rmgr::Call& call, std::uint32_t uid, rmgr::Millis patience);

// Removes the account's System V objects; throws `retry` when one stays.
void remove_ipc(std::uint32_t uid);

}  // namespace native
