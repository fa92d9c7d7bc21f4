#include <unistd.h>

#include <array>
#include <exception>
#include <iostream>

#include "cli/cli.hpp"
#include "cli/context.hpp"
#include "cli/exit_code.hpp"

namespace agent::cli {
namespace {

// The helpers stand beside this program, wherever it was started from.
std::string program_directory() {
  std::array<char, 4096> path{};
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  if (size <= 0) return ".";
  const std::string_view program(path.data(), static_cast<std::size_t>(size));
  return std::string(program.substr(0, program.rfind('/')));
}

}  // namespace

int run(int argc, const char* const* argv) {
  try {
    Context context{std::cout, std::cerr, daemon::run, program_directory()};
    const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
    const int exit_code = dispatch(arguments, context);
    std::cout.flush();
    return std::cout.good() || exit_code != kOk ? exit_code : kFailed;
  } catch (const std::exception& error) {
    std::cerr << "runner-manager: this is a defect: " << error.what() << '\n';
  }
  return kFailed;
}

}  // namespace agent::cli
