#include "native/runner_env.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "native/environment.hpp"
#include "native/files.hpp"
#include "rmgr/error.hpp"

namespace native {
namespace {

constexpr std::size_t max_size = 65536;

bool good_name(std::string_view name) {
  const auto word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && !(name.front() >= '0' && name.front() <= '9') &&
         std::all_of(name.begin(), name.end(), word);
}

bool good_value(std::string_view value) {
  return std::none_of(value.begin(), value.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
  });
}

[[noreturn]] void refuse(const std::string& name, std::size_t line, const std::string& why) {
  throw rmgr::Error(rmgr::Status::invalid, name + ":" + std::to_string(line) + ": " + why);
}

[[noreturn]] void refuse_file(const std::string& path, const std::string& why) {
  throw rmgr::Error(rmgr::Status::invalid, "The environment file " + path + " " + why);
}

}  // namespace

Variables parse_runner_env(std::string_view text, const std::string& name) {
  Variables variables;
  std::set<std::string, std::less<>> seen;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    const std::string_view entry = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (entry.find_first_not_of(" \t") == std::string_view::npos || entry.front() == '#') continue;
    if (entry.back() == '\r')
      refuse(name, line, "the line ends with a carriage return; save the file with Unix line ends.");
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos || !good_name(entry.substr(0, equals))) {
      refuse(name, line,
             "expected KEY=VALUE with a key of letters, digits and underscores, without spaces or export.");
    }
    const std::string_view key = entry.substr(0, equals);
    const std::string_view value = entry.substr(equals + 1);
    if (!good_value(value)) refuse(name, line, "the value holds a control character.");
    if (is_reserved(key))
      refuse(name, line, std::string(key) + " is set by the agent itself; remove the line.");
    if (!seen.emplace(key).second)
      refuse(name, line, std::string(key) + " is set twice; remove one of the lines.");
    variables.emplace_back(key, value);
  }
  return variables;
}

Variables read_runner_env(const std::string& path) {
  // O_NONBLOCK: a FIFO in its place must not hold the launch up.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0)
    refuse_file(path, std::string("cannot be read: ") + std::strerror(errno) + ".");
  if (!S_ISREG(info.st_mode)) refuse_file(path, "is not a regular file.");
  if ((info.st_uid != 0 && info.st_uid != ::geteuid()) || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    refuse_file(path, "can be changed by others; give it to this agent's account with mode 0600.");
  }
  if (info.st_size > static_cast<off_t>(max_size)) refuse_file(path, "is larger than 64 KiB.");
  std::string text(max_size + 1, '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t count = ::read(file.get(), text.data() + have, text.size() - have);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse_file(path, std::string("cannot be read: ") + std::strerror(errno) + ".");
    if (count == 0) break;
    have += static_cast<std::size_t>(count);
  }
  if (have > max_size) refuse_file(path, "is larger than 64 KiB.");
  text.resize(have);
  return parse_runner_env(text, path);
}

}  // namespace native
