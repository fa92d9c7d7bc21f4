#include "conform/leaks.hpp"
#include "conform/files.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "conform/witness.hpp"

namespace rmgr::conform {
namespace {

namespace fs = std::filesystem;

bool holds(const fs::path& path, const std::string& needle) {
  return read_file(path.string()).value_or("").find(needle) != std::string::npos;
}

}  // namespace

void expect_no_leak(const Context& context, const std::string& needle) {
  const std::string who = witness().who_said(needle);
  expect(who.empty(), "The secret is in " + who + ".");
  std::error_code ignored;
  for (fs::recursive_directory_iterator it(context.scratch, ignored); !ignored && it != fs::end(it);
       it.increment(ignored)) {
    if (it->is_regular_file(ignored) && holds(it->path(), needle))
      fail("The secret is in the file " +
           printable(fs::relative(it->path(), context.scratch, ignored).string(), 200) + ".");
    if (it->path().filename().string().find(needle) != std::string::npos)
      fail("The secret is in the name of a file.");
  }
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
    expect(std::string_view(*variable).find(needle) == std::string_view::npos,
           "The secret is in the host's environment.");
  for (const auto& entry : fs::directory_iterator("/proc", ignored))
    expect(!holds(entry.path() / "cmdline", needle), "The secret is an argument of a process.");
}

}  // namespace rmgr::conform
