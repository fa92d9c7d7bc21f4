#include "support/engine/address.hpp"

#include <algorithm>
#include <charconv>

namespace plugins::engine {
namespace {

constexpr std::size_t most_path = 107;  // what sockaddr_un holds, without its last zero
constexpr std::size_t most_host = 253;

bool printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte > 0x20 && byte < 0x7f;
  });
}

std::optional<Address> parse_tcp(std::string_view rest) {
  while (rest.ends_with('/'))
    rest.remove_suffix(1);
  std::string_view host;
  std::string_view port;
  if (rest.starts_with('[')) {
    const std::size_t close = rest.find("]:");
    if (close == std::string_view::npos) return std::nullopt;
    host = rest.substr(1, close - 1);
    port = rest.substr(close + 2);
  } else {
    const std::size_t colon = rest.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    host = rest.substr(0, colon);
    port = rest.substr(colon + 1);
  }
  Address address;
  address.kind = Address::Kind::tcp;
  const auto read = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (read.ec != std::errc() || read.ptr != port.data() + port.size() || address.port == 0)
    return std::nullopt;
  const bool sound = !host.empty() && host.size() <= most_host && printable(host) &&
                     host.find_first_of("/@?#[]") == std::string_view::npos;
  if (!sound) return std::nullopt;
  address.host = host;
  return address;
}

}  // namespace

std::string Address::text() const {
  switch (kind) {
    case Kind::unix_socket: return "unix://" + path;
    case Kind::named_pipe: return "npipe://" + path;
    case Kind::tcp: break;
  }
  const bool six = host.find(':') != std::string::npos;
  return "tcp://" + (six ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool Address::loopback() const { return host == "localhost" || host == "::1" || host.starts_with("127."); }

std::optional<Address> parse_address(std::string_view text) {
  constexpr std::string_view unix_scheme = "unix://";
  constexpr std::string_view tcp_scheme = "tcp://";
  constexpr std::string_view pipe_scheme = "npipe://";
  if (text.starts_with(tcp_scheme)) return parse_tcp(text.substr(tcp_scheme.size()));
  Address address;
  if (text.starts_with(unix_scheme)) {
    address.path = text.substr(unix_scheme.size());
  } else if (text.starts_with(pipe_scheme)) {
    address.kind = Address::Kind::named_pipe;
    address.path = text.substr(pipe_scheme.size());
    if (!address.path.starts_with("//./pipe/")) return std::nullopt;
  } else {
    return std::nullopt;
  }
  if (!address.path.starts_with('/') || address.path.size() > most_path || !printable(address.path))
    return std::nullopt;
  return address;
}

}  // namespace plugins::engine
