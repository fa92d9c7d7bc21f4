// One credential at one GitHub: what every operation shares.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "github/page_cache.hpp"
#include "github/wire.hpp"

namespace plugins::github {

// Thread-safe.
class Session : public Wire {
 public:
  Session(rmgr::Host host, Settings settings);

  PageCache& pages() { return pages_; }

  // The credential as one operation uses it: asked for once, and once more when the server rejects it.
  class Authorization {
   public:
    // Throws `retry` or `unauthorized` with the time that is left while the server must not be asked.
    Authorization(Session& session, const rmgr::Call& call, std::string_view target);
    // 0, and 1 once it was renewed.
    [[nodiscard]] int reading() const { return reading_; }
    [[nodiscard]] http::Request request(http::Method method, std::string url,
                                        const std::string& body = {}) const;
    // What the answer to a request made at that reading means. Nothing if the request is to be tried again
    // with the renewed credential; throws if the credential is what is wrong.
    std::optional<Answer> judge(const http::Response& response, int reading, const std::string& what);

   private:
    void renew();
    void rejected(CredentialState state, const Answer& answer, const std::string& what);
    Session& session_;
    const rmgr::Call& call_;
    std::string target_;
    Loan loan_;
    int reading_ = 0;
  };

  // One request about that target, tried again once after the credential was rejected. Throws if there is no
  // answer, or if the answer is a rate limit or no answer of GitHub. `what` begins a sentence: "Registering a
  // runner for octo/app".
  struct Sent {
    http::Response response;
    Answer answer;
  };
  Sent send(const rmgr::Call& call, std::string_view target, http::Method method, const std::string& path,
            const std::string& body, const std::string& what);

 private:
  PageCache pages_;
  std::unique_ptr<Credential> credential_;
};

}  // namespace plugins::github
