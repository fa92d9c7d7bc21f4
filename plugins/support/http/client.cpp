#include "support/http/client.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "support/http/loop.hpp"
#include "support/http/transfer.hpp"
#include "support/http/url.hpp"

namespace plugins::http {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kUnwatchedSlice{20};
constexpr std::chrono::hours kLongest{24};

void cancel_mailbox(void* arg) {
  auto& box = *static_cast<Mailbox*>(arg);
  {
    const std::lock_guard lock(box.mutex);
    box.cancelled = true;
  }
  box.changed.notify_all();
}

// Waits at one mailbox until something is there, the caller cancels, or the deadline comes.
class Wait {
 public:
  Wait(std::shared_ptr<Mailbox> box, Caller& caller)
      : box_(std::move(box)),
        caller_(caller),
        deadline_(Clock::now() + std::min<std::chrono::milliseconds>(caller.remaining(), kLongest)),
        registration_(caller.on_cancel(&cancel_mailbox, box_.get())) {}
  ~Wait() {
    if (registration_ != 0) caller_.off_cancel(registration_);
  }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  // Nothing once `ready` holds, else why waiting ended.
  template <class Ready>
  std::optional<Failure::Kind> until(std::unique_lock<std::mutex>& lock, Ready ready) {
    for (;;) {
      if (box_->cancelled) return Failure::Kind::cancelled;
      if (ready()) return std::nullopt;
      const auto now = Clock::now();
      if (now >= deadline_) return Failure::Kind::deadline;
      if (registration_ != 0) {
        box_->changed.wait_until(lock, deadline_);
        continue;
      }
      // The caller has no room for another registration, so it is asked now and then.
      box_->changed.wait_until(lock, std::min(deadline_, now + kUnwatchedSlice));
      lock.unlock();
      const bool requested = caller_.requested();
      lock.lock();
      box_->cancelled = box_->cancelled || requested;
    }
  }

 private:
  std::shared_ptr<Mailbox> box_;
  Caller& caller_;
  Clock::time_point deadline_;
  std::uint64_t registration_;
};

Failure given_up(Failure::Kind kind) {
  return {
      kind, kind == Failure::Kind::cancelled ? "the request was cancelled" : "the request took too long", {}};
}

Failure refused(std::string message) { return {Failure::Kind::refused, std::move(message), {}}; }

}  // namespace

struct Client::State {
  explicit State(Options given) : options(std::move(given)), loop(options) {}

  Options options;
  std::mutex mutex;
  Secret proxy_credentials;
  Loop loop;

  // Null and a reason if it may not be sent.
  std::pair<std::shared_ptr<Transfer>, std::string> start(const std::shared_ptr<Mailbox>& box,
                                                          Request request, std::uint64_t tag,
                                                          bool streaming) {
    auto transfer = std::make_shared<Transfer>(box, std::move(request), tag, streaming);
    std::string problem;
    {
      const std::lock_guard lock(mutex);
      problem = transfer->prepare(options, proxy_credentials);
    }
    if (!problem.empty()) return {nullptr, std::move(problem)};
    loop.add(transfer);
    return {std::move(transfer), {}};
  }
  void give_up(const std::shared_ptr<Transfer>& transfer) {
    transfer->abandon();
    loop.remove(transfer);
  }
};

Client::Client(Options options) : state_(std::make_shared<State>(std::move(options))) {}
Client::~Client() = default;

void Client::set_proxy_credentials(Secret credentials) {
  const std::lock_guard lock(state_->mutex);
  state_->proxy_credentials = std::move(credentials);
}

Outcome Client::perform(Request request, Caller& caller) {
  Batch batch(*this, caller, 1);
  batch.add(std::move(request), 0);
  auto done = batch.next();
  if (!done) return refused("the request was lost");
  return std::move(done->outcome);
}

namespace {

// Where the answer of a finished download leads, or nothing; a refusal ends it.
struct Next {
  std::optional<Url> url;
  std::string text;
  std::string refusal;
};
Next next_of(Transfer& transfer, const Url& from) {
  Next next;
  next.text = transfer.redirect_target();
  if (next.text.empty()) return next;
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

}  // namespace

Outcome Client::download(Request request, Receiver& receiver, Caller& caller) {
  const auto box = std::make_shared<Mailbox>();
  Wait wait(box, caller);
  for (int left = request.redirects;; --left) {
    const auto from = parse_url(request.url);
    auto [transfer, problem] = state_->start(box, std::move(request), 0, true);
    if (!transfer) return refused(std::move(problem));
    auto& stream = transfer->stream();
    auto& response = transfer->response();
    bool headed = false;
    bool redirecting = false;
    auto take = Receiver::Take::collect;
    for (;;) {
      std::string bytes;
      bool done = false;
      {
        std::unique_lock lock(box->mutex);
        const auto ended = wait.until(
            lock, [&] { return stream.done || (stream.head_ready && (!headed || !stream.pending.empty())); });
        if (ended) {
          lock.unlock();
          state_->give_up(transfer);
          return given_up(*ended);
        }
        done = stream.done;
        bytes.swap(stream.pending);
        if (std::exchange(stream.paused, false)) state_->loop.resume(transfer);
        if (!stream.head_ready) return transfer->take_outcome();
      }
      if (!headed) {
        headed = true;
        redirecting =
            left > 0 && response.status >= 300 && response.status < 400 && response.header("location");
        if (!redirecting) take = receiver.head(response);
      }
      bool go_on = take != Receiver::Take::stop;
      if (go_on && take == Receiver::Take::stream && !bytes.empty()) go_on = receiver.chunk(bytes);
      if (go_on && take == Receiver::Take::collect) {
        const auto room =
            transfer->request().max_body - std::min(transfer->request().max_body, response.body.size());
        response.body.append(bytes, 0, room);
      }
      if (!go_on) {
        if (!done) state_->give_up(transfer);
        return Failure{Failure::Kind::stopped, "the receiver wanted no more", {}};
      }
      if (done) break;
    }
    if (!redirecting || transfer->failed()) return transfer->take_outcome();
    auto next = next_of(*transfer, *from);
    if (!next.refusal.empty()) return refused(std::move(next.refusal));
    request = std::move(transfer->request());
    if (!next.url) return refused(from->authority() + " redirects to nowhere");
    if (!next.url->same_origin(*from)) request.authorization.wipe();
    request.url = std::move(next.text);
  }
}

struct Batch::State {
  State(std::shared_ptr<Client::State> owner, Caller& caller, std::size_t limit)
      : client(std::move(owner)), parallel(std::max<std::size_t>(limit, 1)), wait(box, caller) {}

  std::shared_ptr<Client::State> client;
  std::size_t parallel;
  std::shared_ptr<Mailbox> box = std::make_shared<Mailbox>();
  Wait wait;
  std::deque<std::pair<Request, std::uint64_t>> waiting;
  std::map<const Transfer*, std::shared_ptr<Transfer>> running;
  std::optional<Failure::Kind> ended;  // from then on nothing is started and `finished` is not read any more

  // The next request that gets no answer because waiting ended. There is one.
  Done give_up_one() {
    std::uint64_t tag = 0;
    if (!running.empty()) {
      const auto transfer = std::move(running.begin()->second);
      running.erase(running.begin());
      client->give_up(transfer);
      tag = transfer->tag();
    } else {
      tag = waiting.front().second;
      waiting.pop_front();
    }
    return {tag, given_up(*ended)};
  }
};

Batch::Batch(Client& client, Caller& caller, std::size_t parallel)
    : state_(std::make_unique<State>(client.state_, caller, parallel)) {}

Batch::~Batch() {
  for (const auto& [name, transfer] : state_->running)
    state_->client->give_up(transfer);
}

void Batch::add(Request request, std::uint64_t tag) { state_->waiting.emplace_back(std::move(request), tag); }

std::optional<Batch::Done> Batch::next() {
  auto& s = *state_;
  while (!s.ended && !s.waiting.empty() && s.running.size() < s.parallel) {
    auto [request, tag] = std::move(s.waiting.front());
    s.waiting.pop_front();
    auto [transfer, problem] = s.client->start(s.box, std::move(request), tag, false);
    if (!transfer) return Done{tag, refused(std::move(problem))};
    s.running.emplace(transfer.get(), transfer);
  }
  if (s.running.empty() && s.waiting.empty()) return std::nullopt;
  if (!s.ended) {
    std::unique_lock lock(s.box->mutex);
    s.ended = s.wait.until(lock, [&] { return !s.box->finished.empty(); });
    if (!s.ended) {
      const auto found = s.running.find(s.box->finished.front());
      s.box->finished.pop_front();
      lock.unlock();
      const auto transfer = std::move(found->second);
      s.running.erase(found);
      return Done{transfer->tag(), transfer->take_outcome()};
    }
  }
  return s.give_up_one();
}

}  // namespace plugins::http
