#include "support/engine/stream.hpp"

#include "support/engine/tls.hpp"
#include "support/engine/transport.hpp"

namespace plugins::engine {

std::unique_ptr<Stream> open_stream(const Address& address, const Tls* tls, const Waiter& waiter) {
  switch (address.kind) {
    case Address::Kind::unix_socket: return open_unix(address, waiter);
    case Address::Kind::named_pipe: return open_pipe(address, waiter);
    case Address::Kind::tcp: break;
  }
  std::unique_ptr<Stream> plain = open_tcp(address, waiter);
  return tls == nullptr ? std::move(plain) : open_tls(std::move(plain), *tls, address.host, waiter);
}

}  // namespace plugins::engine
