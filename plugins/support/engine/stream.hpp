// A connection to an engine. What carries it is hidden here, so that another transport is another file.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "rmgr/error.hpp"
#include "support/engine/address.hpp"
#include "support/engine/waiter.hpp"

namespace plugins::engine {

// Used by one thread at a time. Every function throws rmgr::Error.
class Stream {
 public:
  virtual ~Stream() = default;
  // How many bytes came; 0 at the end.
  virtual std::size_t read_some(std::span<char> into, const Waiter& waiter) = 0;
  virtual void write_all(std::string_view bytes, const Waiter& waiter) = 0;
  // The other side reads an end; what it says can still be read.
  virtual void finish_writing(const Waiter& waiter) = 0;
};

// Why nobody answered.
class NoConnection : public rmgr::Error {
 public:
  enum class Why {
    absent,     // there is no such socket
    forbidden,  // this account may not use it
    silent      // it is there and nobody answers
  };
  NoConnection(Why why, const std::string& message)
      : rmgr::Error(why == Why::forbidden ? rmgr::Status::denied : rmgr::Status::unreachable, message),
        why_(why) {}
  [[nodiscard]] Why why() const noexcept { return why_; }

 private:
  Why why_;
};

// TLS for tcp. PEM texts; without a certificate the client names itself to nobody.
struct Tls {
  std::string ca;
  std::string certificate;
  std::string key;  // secret
};

// `tls` may be null, and is used for tcp only. Throws NoConnection.
std::unique_ptr<Stream> open_stream(const Address& address, const Tls* tls, const Waiter& waiter);

}  // namespace plugins::engine
