// One credential at one GitHub: what every request shares.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "github/answer.hpp"
#include "github/pace.hpp"
#include "github/page_cache.hpp"
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
class Session {
 public:
  Session(rmgr::Host host, Settings settings);

  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] const rmgr::Host& host() const { return host_; }
  http::Client& client() { return client_; }
  PageCache& pages() { return pages_; }

  // Tells what the answer says about the credential's pace.
  Answer learn(const http::Response& response, std::size_t fingerprint);

  // The credential as one operation uses it: read once, and read again once when the server rejects it.
  class Authorization {
   public:
    // Throws `retry` or `unauthorized` with the time that is left while the server must not be asked.
    explicit Authorization(Session& session);
    // 0, and 1 once it was read again.
    [[nodiscard]] int reading() const { return reading_; }
    [[nodiscard]] std::size_t fingerprint() const { return fingerprint_; }
    // A request of this path or whole URL, with every header that GitHub wants.
    [[nodiscard]] http::Request request(http::Method method, std::string url) const;
    // The server rejected a request made at that reading. Returns if it is worth another try, else throws.
    void rejected(int reading, const std::string& what);
    // The same text, or something else if the text holds the credential.
    [[nodiscard]] std::string scrub(std::string text) const;

   private:
    void read();
    Session& session_;
    http::Secret token_;
    std::size_t fingerprint_ = 0;
    int reading_ = 0;
  };

  // One request, tried again once after the credential was rejected. Throws if there is no answer, or if the
  // answer is a rate limit or no answer of GitHub. `what` begins a sentence: "Registering a runner for
  // octo/app".
  struct Sent {
    http::Response response;
    Answer answer;
  };
  Sent send(const rmgr::Call& call, http::Method method, const std::string& path, const std::string& body,
            const std::string& what);

  // Why an operation failed, as what is thrown.
  [[nodiscard]] rmgr::Error failed(const http::Failure& failure, const std::string& what) const;
  [[nodiscard]] rmgr::Error failed(const Answer& answer, const std::string& what,
                                   std::string_view remedy = {}) const;
  [[nodiscard]] rmgr::Error nonsense(const http::Response& response, const std::string& what,
                                     std::string_view why) const;

 private:
  rmgr::Host host_;
  Settings settings_;
  http::Client client_;
  PageCache pages_;
  std::mutex mutex_;
  Pace pace_;
};

}  // namespace plugins::github
