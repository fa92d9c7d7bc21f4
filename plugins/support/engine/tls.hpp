#pragma once

#include "support/engine/stream.hpp"

namespace plugins::engine {

// TLS 1.2 or later over `lower`, with the peer's certificate checked against `tls.ca` and `host`.
std::unique_ptr<Stream> open_tls(std::unique_ptr<Stream> lower, const Tls& tls, const std::string& host,
                                 const Waiter& waiter);

}  // namespace plugins::engine
