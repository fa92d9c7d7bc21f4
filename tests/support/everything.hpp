// What an operator or a job could read, as text to search in.
#pragma once

#include <filesystem>
#include <string>

namespace testkit {

std::string contents(const std::filesystem::path& file);
// Every row of every table.
std::string journal_dump(const std::string& path);
// The command lines of every process of this machine.
std::string all_command_lines();

}  // namespace testkit
