// An HTTP client for blocking callers. One thread of its own drives every transfer, so a caller that is
// cancelled returns at once while connections stay open for the next request. It writes no log.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "support/http/message.hpp"

namespace plugins::http {

struct Options {
  std::string user_agent;
  std::string ca_bundle;  // PEM file; empty: the system's
  std::string proxy;  // http, https, socks5 or socks5h URL without userinfo; empty: none. The environment is
                      // not asked
  std::string no_proxy;  // hosts, suffixes and CIDR ranges, separated by commas
  std::chrono::milliseconds connect_timeout{10'000};
  std::size_t max_host_connections = 32;
};

class Loop;

// Thread-safe. Every perform and download must have returned before it is destroyed.
class Client {
 public:
  explicit Client(Options options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // `user:password` for the proxy, used from the next request on; empty: none.
  void set_proxy_credentials(Secret credentials);

  Outcome perform(Request request, Caller& caller);
  // Follows redirects as the request allows: never from https to http, and Authorization stays with its
  // origin.
  Outcome download(Request request, Receiver& receiver, Caller& caller);

  struct State;  // the library's own

 private:
  friend class Batch;
  std::shared_ptr<State> state_;
};

// Several requests of one caller at once. Not thread-safe; what still runs at its end is given up.
class Batch {
 public:
  Batch(Client& client, Caller& caller, std::size_t parallel);
  ~Batch();
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  void add(Request request, std::uint64_t tag);
  struct Done {
    std::uint64_t tag = 0;
    Outcome outcome;
  };
  // The next one that ended, in no order; nothing when none is left. After cancel or deadline every one that
  // is left ends so.
  std::optional<Done> next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plugins::http
