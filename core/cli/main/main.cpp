#include "cli/cli.hpp"

int main(int argc, char** argv) { return agent::cli::run(argc, argv); }
