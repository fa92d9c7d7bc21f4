#include <exception>
#include <iostream>

#include "cli/cli.hpp"

int main(int argc, char** argv) {
  try {
    agent::cli::Surface surface{.out = std::cout, .err = std::cerr};
    return agent::cli::run({argv + 1, argv + argc}, surface);
  } catch (const std::exception& defect) {
    std::cerr << "runner-manager: a defect ended the program: " << defect.what() << '\n';
    return agent::cli::kFailed;
  }
}
