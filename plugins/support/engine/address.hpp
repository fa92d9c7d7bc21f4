// Where an engine listens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plugins::engine {

struct Address {
  enum class Kind { unix_socket, tcp, named_pipe };
  Kind kind = Kind::unix_socket;
  std::string path;        // of the socket or the pipe
  std::string host;        // of tcp; an IPv6 address without its brackets
  std::uint16_t port = 0;  // of tcp

  [[nodiscard]] std::string text() const;
  // By name alone: localhost, 127.0.0.0/8 or ::1.
  [[nodiscard]] bool loopback() const;
};

// unix:///path, tcp://host:port or npipe:////./pipe/name. Nothing for anything else.
std::optional<Address> parse_address(std::string_view text);

}  // namespace plugins::engine
