// Answers requests on the control socket, on the daemon's own loop thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "daemon/control_protocol.hpp"
#include "domain/result.hpp"
#include "observe/log.hpp"

namespace boost::asio {
class io_context;
}

namespace agent::daemon {

// Takes what control_result or control_error made: once, on the loop thread, at once or later. Without it the
// connection ends after its time.
using ControlReply = std::function<void(std::string)>;

// Runs on the loop thread and must not block. `command` is the request's word, `request` the whole line.
using ControlHandler =
    std::function<void(const std::string& command, const std::string& request, ControlReply reply)>;

// One request line of at most 64 KiB and one response line a connection; at most 16 connections at a time; 10
// s to a complete request and again to a taken response. Peers must be root, this account, or in the socket's
// group.
class ControlServer {
 public:
  // Listens when it returns; see ControlSocket for what is refused. `log`, if given, outlives the server and
  // hears of refused peers.
  static domain::Result<std::unique_ptr<ControlServer>> start(boost::asio::io_context& loop,
                                                              const std::string& path, ControlHandler handler,
                                                              observe::Log* log = nullptr);
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;
  // On the loop thread, or when the loop runs no more. Ends all connections, removes the socket's file; the
  // handler is not called again.
  ~ControlServer();

 private:
  struct State;
  explicit ControlServer(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace agent::daemon
