#include "support/engine/windows_error.hpp"

#include <windows.h>

namespace plugins::engine {

using Why = NoConnection::Why;

NoConnection no_connection(const Address& address, unsigned long code) {
  const std::string where = "The container engine at " + address.text();
  switch (code) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
      return {Why::absent, where +
                               " is not there; install a Docker engine and start its service, or correct "
                               "host."};
    case ERROR_ACCESS_DENIED:
      return {Why::forbidden, where +
                                  " may not be used by this agent's account; add the account to the "
                                  "engine's group (docker-users) or run the agent as a service."};
    default:
      return {Why::silent,
              where + " does not answer (error " + std::to_string(code) + "); start the engine's service."};
  }
}

rmgr::Error broken(unsigned long code) {
  return {rmgr::Status::unreachable,
          "The connection to the container engine broke (error " + std::to_string(code) + ")."};
}

}  // namespace plugins::engine
