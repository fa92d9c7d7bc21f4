#include "support/http/client.hpp"

#include <deque>
#include <map>
#include <utility>

#include "support/http/state.hpp"

namespace plugins::http {

void cancel_mailbox(void* box) {
  auto& mailbox = *static_cast<Mailbox*>(box);
  {
    const std::lock_guard lock(mailbox.mutex);
    mailbox.cancelled = true;
  }
  mailbox.changed.notify_all();
}

Failure given_up(Failure::Kind kind) {
  return {
      kind, kind == Failure::Kind::cancelled ? "the request was cancelled" : "the request took too long", {}};
}

Failure refused(std::string message) { return {Failure::Kind::refused, std::move(message), {}}; }

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
