// Runner.Listener: what a manager of runners starts. It behaves towards its manager as GitHub's runner does
// (input variable, files, diagnostics, exit codes) and speaks the emulator's own protocol towards the server.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

#include "runner/layout.hpp"
#include "runner/listener.hpp"
#include "wire/text.hpp"

namespace {

using namespace emulator::runner;

constexpr const char* kJitVariable = "ACTIONS_RUNNER_INPUT_JITCONFIG";

// The .NET runtime leaves such pipes in its temporary directory; a cleaner must not open them.
void make_debug_pipes() {
  const char* directory = std::getenv("TMPDIR");
  if (directory == nullptr || *directory == '\0') return;
  const std::string base = std::string(directory) + "/clr-debug-pipe-" + std::to_string(::getpid()) + "-1";
  for (const char* end : {"-in", "-out"}) {
    if (::mkfifo((base + end).c_str(), 0600) != 0) return;
  }
}

int run(std::int64_t exec_at_ms) {
  const auto root = root_directory();
  const char* given = std::getenv(kJitVariable);
  const std::string jit = given == nullptr ? "" : given;
  ::unsetenv(kJitVariable);
  load_environment_files(root);
  DiagnosticLog log(root, "Runner");
  log.log("Runner", "version " + version());
  make_debug_pipes();
  if (!jit.empty()) {
    if (const auto wrong = install_jit_config(root, jit)) {
      std::cerr << *wrong << std::endl;
      log.log("Runner", *wrong);
      return exit_code::terminated;
    }
  }
  auto identity = load_identity(root);
  if (!identity) {
    std::cerr << "Runner is not configured." << std::endl;
    return exit_code::terminated;
  }
  return Listener(root, std::move(*identity), log, exec_at_ms).run();
}

}  // namespace

int main(int argc, char** argv) {
  const auto exec_at_ms = emulator::wall_clock_ms();
  const std::string command = argc > 1 ? argv[1] : "";
  try {
    if (command == "--version") {
      std::cout << version() << std::endl;
      return exit_code::success;
    }
    if (command == "run") return run(exec_at_ms);
    std::cerr << "usage: Runner.Listener run | --version" << std::endl;
    return command == "--help" ? exit_code::success : exit_code::terminated;
  } catch (const std::exception& error) {
    std::cerr << "An error occurred: " << error.what() << std::endl;
    return exit_code::terminated;
  }
}
