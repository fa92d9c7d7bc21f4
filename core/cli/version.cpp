#include "daemon/version.hpp"

#include <ostream>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"

namespace agent::cli {

int version(Context& context) {
  context.out << "runner-manager " << daemon::kVersion << '\n';
  return kOk;
}

}  // namespace agent::cli
