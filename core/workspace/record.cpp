#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "crash_point.hpp"
#include "workspace/handle.hpp"
#include "workspace/workspace.hpp"

namespace agent::workspace {

using domain::Error;
using domain::ErrorCode;

namespace {

// One value is one line, whatever it holds.
std::string line(std::string_view key, std::string value) {
  std::replace_if(
      value.begin(), value.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }, '?');
  return std::string(key) + ": " + value + "\n";
}

Result<Fd> open_or_make(const std::string& directory) {
  auto opened = open_directory(directory);
  if (opened || opened.error().code != ErrorCode::not_found) return opened;
  const auto place = open_parent(directory);
  if (!place) return place.error();
  if (::mkdirat(place->parent.get(), place->name.c_str(), 0700) != 0 && errno != EEXIST) {
    return system_error("cannot make the directory of attempt records", errno);
  }
  return open_directory(directory);
}

}  // namespace

Result<void> write_record(const std::string& directory, const domain::Attempt& attempt) {
  if (!attempt.outcome || !is_entry_name(attempt.id.str() + ".record")) {
    return Error{ErrorCode::invalid, "only a concluded attempt with an id has a record"};
  }
  const auto& outcome = *attempt.outcome;
  const auto text = line("attempt", attempt.id.str()) + line("policy", attempt.policy.name.str()) +
                    line("outcome", std::string(to_string(outcome.kind))) +
                    line("reason", outcome.reason ? std::string(to_string(*outcome.reason)) : "none");
  const auto home = open_or_make(directory);
  if (!home) return home.error();
  const auto name = attempt.id.str() + ".record";
  // One name for each attempt: what a crash leaves is written anew and renamed by the next try.
  const auto temporary = "." + attempt.id.str() + ".new";
  const Fd file(
      ::openat(home->get(), temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return system_error("cannot write the record of an attempt", errno);
  RMGR_CRASH_POINT("workspace.record.draft");
  int error = write_all(file.get(), text);
  if (error == 0 && ::fsync(file.get()) != 0) error = errno;
  RMGR_CRASH_POINT("workspace.record.before_rename");
  if (error == 0 && ::renameat(home->get(), temporary.c_str(), home->get(), name.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlinkat(home->get(), temporary.c_str(), 0);
    return system_error("cannot write the record of an attempt", error);
  }
  RMGR_CRASH_POINT("workspace.record.written");
  if (::fsync(home->get()) != 0) return system_error("cannot write the record of an attempt", errno);
  return {};
}

}  // namespace agent::workspace
