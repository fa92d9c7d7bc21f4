// What every request of one instance shares: the client, the words for what went wrong, the pace and the
// server's clock.
#pragma once

#include <string>
#include <string_view>

#include "github/answer.hpp"
#include "github/credential.hpp"
#include "github/instant.hpp"
#include "github/settings.hpp"
#include "rmgr/call.hpp"
#include "rmgr/host.hpp"
#include "support/http/client.hpp"

namespace plugins::github {

// The waiting side of a call of the host.
class CallCaller final : public http::Caller {
 public:
  explicit CallCaller(const rmgr::Call& call) : call_(*call.abi()) {}
  bool requested() override { return call_.requested(call_.ctx) != 0; }
  std::chrono::milliseconds remaining() override {
    return std::chrono::milliseconds{call_.remaining_ms(call_.ctx)};
  }
  std::uint64_t on_cancel(void (*fn)(void*), void* arg) override {
    return call_.on_cancel(call_.ctx, fn, arg);
  }
  void off_cancel(std::uint64_t registration) override { call_.off_cancel(call_.ctx, registration); }

 private:
  const rmgr_call& call_;
};

// Thread-safe.
class Wire {
 public:
  Wire(rmgr::Host host, Settings settings);

  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] const rmgr::Host& host() const { return host_; }
  http::Client& client() { return client_; }
  Paces& paces() { return paces_; }
  ServerClock& clock() { return clock_; }

  // A request of this path or whole URL, with every header that GitHub wants. A body is JSON.
  [[nodiscard]] http::Request request(http::Method method, std::string url, const http::Secret& token,
                                      const std::string& body = {}) const;
  // What an answer means; its Date and its rate limit are learnt for that line.
  Answer judge(const http::Response& response, const std::string& line);

  // Why an operation failed, as what is thrown. `what` begins a sentence: "Registering a runner for
  // octo/app".
  [[nodiscard]] static rmgr::Error failed(const http::Failure& failure, const std::string& what);
  [[nodiscard]] rmgr::Error failed(const Answer& answer, const std::string& what,
                                   std::string_view remedy = {}) const;
  [[nodiscard]] rmgr::Error nonsense(const http::Response& response, const std::string& what,
                                     std::string_view why) const;

 private:
  rmgr::Host host_;
  Settings settings_;
  http::Client client_;
  Paces paces_;
  ServerClock clock_;
};

}  // namespace plugins::github
