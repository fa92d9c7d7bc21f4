// The one thread of the emulator: an HTTP/1.1 server on loopback, timers and signals. Nothing that it calls
// may block.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "server/exchange.hpp"

namespace emulator {

class HttpServer {
 public:
  // Binds at once; port 0 takes a free one. Throws std::runtime_error for an address outside loopback or one
  // that cannot be bound.
  HttpServer(const std::string& address, std::uint16_t port);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  void serve(Handler handler);
  void after(std::chrono::milliseconds delay, std::function<void()> work);
  void every(std::chrono::milliseconds period, std::function<void()> work);
  void stop_on_signals();
  // Stops when the standard input ends, so that the emulator does not outlive who holds its other end.
  void stop_on_input_end();
  void run();
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace emulator
