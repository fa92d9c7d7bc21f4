// scripted-windows-engine FILE: writes its address to FILE and runs until its standard input ends. Then it
// says on standard output how many containers were left, and ends with 1 if there are any.
#include <unistd.h>

#include <array>
#include <fstream>
#include <iostream>

#include "support/windows_engine.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: scripted-windows-engine FILE\n";
    return 2;
  }
  scripted::WindowsEngine engine;
  const std::string file = argv[1];
  std::ofstream(file + ".new") << engine.address() << '\n';
  std::filesystem::rename(file + ".new", file);
  std::array<char, 256> ignored{};
  while (::read(STDIN_FILENO, ignored.data(), ignored.size()) > 0) {
  }
  std::cout << engine.containers() << " containers left\n";
  return engine.containers() == 0 ? 0 : 1;
}
