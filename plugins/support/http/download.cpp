#include <utility>

#include "support/http/state.hpp"
#include "support/http/url.hpp"

namespace plugins::http {
namespace {

// Where the answer of a finished transfer leads. `refusal` is set if that is not followed.
struct Next {
  std::optional<Url> url;
  std::string text;
  std::string refusal;
};

Next next_of(const Transfer& transfer, const Url& from) {
  Next next;
  next.text = transfer.redirect_target();
  next.url = parse_url(next.text);
  if (!next.url || (next.url->scheme != "http" && next.url->scheme != "https")) {
    next.refusal = from.authority() + " redirects to something that is not an http or https URL";
  } else if (from.scheme == "https" && next.url->scheme != "https") {
    next.refusal = from.authority() + " redirects from https to http, which is not followed";
  } else if (next.url->userinfo) {
    next.refusal =
        from.authority() + " redirects to a URL with a user name or password, which is not followed";
  }
  return next;
}

// Passes one transfer's answer to the receiver, on this thread.
class Reception {
 public:
  Reception(Client::State& client, std::shared_ptr<Transfer> transfer, Receiver& receiver, bool may_redirect)
      : client_(client), transfer_(std::move(transfer)), receiver_(receiver), may_redirect_(may_redirect) {}
  ~Reception() {
    if (!done_) client_.give_up(transfer_);
  }
  Reception(const Reception&) = delete;
  Reception& operator=(const Reception&) = delete;

  [[nodiscard]] bool redirecting() const { return redirecting_ && !transfer_->failed(); }
  Outcome run(Wait& wait) {
    while (!done_) {
      std::string bytes;
      if (auto ended = next(wait, bytes)) return std::move(*ended);
      if (!take(bytes)) return Failure{Failure::Kind::stopped, "the receiver wanted no more", {}};
    }
    return transfer_->take_outcome();
  }

 private:
  // Waits for the head, more bytes or the end; answers the outcome if there is nothing to take.
  std::optional<Outcome> next(Wait& wait, std::string& bytes) {
    auto& stream = transfer_->stream();
    std::unique_lock lock(transfer_->mailbox().mutex);
    const auto ended = wait.until(
        lock, [&] { return stream.done || (stream.head_ready && (!headed_ || !stream.pending.empty())); });
    if (ended) return Outcome(given_up(*ended));
    done_ = stream.done;
    bytes.swap(stream.pending);
    if (std::exchange(stream.paused, false)) client_.loop.resume(transfer_);
    if (!stream.head_ready) return transfer_->take_outcome();
    return std::nullopt;
  }

  // False if the receiver stops.
  bool take(const std::string& bytes) {
    auto& response = transfer_->response();
    if (!headed_) {
      headed_ = true;
      redirecting_ =
          may_redirect_ && response.status >= 300 && response.status < 400 && response.header("location");
      if (!redirecting_) take_ = receiver_.head(response);
    }
    if (take_ == Receiver::Take::stop) return false;
    if (take_ == Receiver::Take::stream) return bytes.empty() || receiver_.chunk(bytes);
    const auto limit = transfer_->request().max_body;
    response.body.append(bytes, 0, limit - std::min(limit, response.body.size()));
    return true;
  }

  Client::State& client_;
  std::shared_ptr<Transfer> transfer_;
  Receiver& receiver_;
  bool may_redirect_;
  bool headed_ = false;
  bool redirecting_ = false;
  bool done_ = false;
  Receiver::Take take_ = Receiver::Take::collect;
};

}  // namespace

Outcome Client::download(Request request, Receiver& receiver, Caller& caller) {
  const auto box = std::make_shared<Mailbox>();
  Wait wait(box, caller);
  for (int left = request.redirects;; --left) {
    const auto from = parse_url(request.url);
    const auto [transfer, problem] = state_->start(box, std::move(request), 0, true);
    if (!transfer) return refused(problem);
    Reception reception(*state_, transfer, receiver, left > 0);
    auto outcome = reception.run(wait);
    if (!reception.redirecting() || std::holds_alternative<Failure>(outcome)) return outcome;
    auto next = next_of(*transfer, *from);
    if (!next.refusal.empty()) return refused(std::move(next.refusal));
    request = std::move(transfer->request());
    if (!next.url->same_origin(*from)) request.authorization.wipe();
    request.url = std::move(next.text);
  }
}

}  // namespace plugins::http
