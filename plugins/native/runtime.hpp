// The directory of one attempt, given to its account.
#pragma once

#include <string>

#include "native/accounts.hpp"
#include "rmgr/call.hpp"

namespace native {

inline constexpr const char* home_directory = "_home";
inline constexpr const char* temp_directory = "_temp";

// Throws `invalid` unless <package>/bin/Runner.Listener is a regular file that can be executed.
std::string listener_of(const std::string& package);

// Makes the private directories, and gives the whole tree to the account unless it has it already. Never
// follows a link, never opens anything but directories, crosses no mount point, and leaves files with several
// names alone, since another of the names may be somebody else's. On an overlay only directories change
// hands, because each file would be copied for it. Throws `invalid` if the account could not reach the
// directory. With `own_tmp` also what backs the job's /tmp and /var/tmp.
void give_runtime(const rmgr::Call& call, const std::string& runtime, const Account& account, bool own_tmp);

// Whether prepare made this directory ready before.
bool is_prepared(const std::string& runtime);

}  // namespace native
