// What an operator or a job could read, as text to search in.
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <string>

namespace testkit {

std::string contents(const std::filesystem::path& file);
// All regular files below `root`, one after the other, but those that `skip` names.
std::string files_below(const std::filesystem::path& root,
                        const std::function<bool(const std::filesystem::path&)>& skip = nullptr);
// The credentials of runners that stand in `text` as the runner's own files hold them.
std::set<std::string> credentials_in(const std::string& text);
// Every row of every table.
std::string journal_dump(const std::string& path);
// The first value that a query of a journal answers; empty if there is none.
std::string journal_value(const std::string& path, const std::string& query);
// Changes a journal that no agent has open, as nobody should.
bool run_sql(const std::string& path, const std::string& statement);
// The points at which the daemon can be killed that stand whole in the sources below `directory`.
std::set<std::string> crash_points_in(const std::filesystem::path& directory);
// The command lines of every process of this machine.
std::string all_command_lines();

}  // namespace testkit
