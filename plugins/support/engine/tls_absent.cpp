#include "support/engine/tls.hpp"

namespace plugins::engine {

std::unique_ptr<Stream> open_tls(std::unique_ptr<Stream> /*lower*/, const Tls& /*tls*/,
                                 const std::string& host, const Waiter& /*waiter*/) {
  throw rmgr::Error(
      rmgr::Status::unsupported,
      "This build has no TLS, so the container engine at " + host +
          " cannot be used; use the named pipe of this machine's engine or a build with OpenSSL.");
}

}  // namespace plugins::engine
