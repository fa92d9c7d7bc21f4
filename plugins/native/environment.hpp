// The environment of a native runner: it starts empty and is put together by rules.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "native/accounts.hpp"
#include "native/runner_env.hpp"

namespace native {

// Name of the variable that carries the one-time configuration; given at release, never before.
inline constexpr std::string_view jit_variable = "ACTIONS_RUNNER_INPUT_JITCONFIG";

std::vector<std::string> default_inherit();
// False for patterns that reach a channel of the service manager or of the agent itself.
bool may_inherit(std::string_view pattern);
// Names that the agent decides and runner.env may not.
bool is_reserved(std::string_view name);

// What this process itself was started with.
Variables own_environment();

// KEY=VALUE each, sorted by name. Later wins: `own` as far as `inherit` names it, what the agent decides, the
// operator's file, and then the directories of the attempt.
std::vector<std::string> build_environment(const Variables& own, const std::vector<std::string>& inherit,
                                           const Variables& runner_env, const Account& account,
                                           const std::string& runtime);

}  // namespace native
