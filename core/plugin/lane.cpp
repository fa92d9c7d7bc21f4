#include "plugin/lane.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <list>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "plugin/crash_note.hpp"

namespace agent::plugin {
namespace {

using Clock = std::chrono::steady_clock;
using domain::Error;
using domain::ErrorCode;
using domain::Millis;

// Far enough to be for ever, near enough not to overflow a time point.
constexpr Millis longest{std::chrono::hours{24 * 365}};

Clock::time_point from(Clock::time_point start, Millis span) {
  return start + std::clamp(span, Millis{0}, longest);
}

}  // namespace

// Shared by the lane and its threads, so that a thread left behind finds everything it touches.
struct Lane::State : std::enable_shared_from_this<Lane::State> {
  struct Queued {
    Item item;
    Clock::time_point give_up;
  };
  struct Running {
    std::shared_ptr<Call> call;
    std::function<void(Error)> refuse;
    Clock::time_point deadline;
    bool cancelled = false;
    bool given_up = false;  // answered by the watch
  };
  struct Refusal {
    std::function<void(Error)> refuse;
    Error error;
  };
  struct Canceller {
    std::thread thread;
    bool done = false;  // all that is left of it is to be joined
  };

  explicit State(LaneOptions chosen) : options(std::move(chosen)) {}

  const LaneOptions options;
  mutable std::mutex mutex;
  std::condition_variable work;     // workers
  std::condition_variable watched;  // the watch
  std::condition_variable ended;    // finish()
  std::deque<Queued> queue;
  std::list<Running> running;
  std::vector<Refusal> refusals;  // to be answered by the watch
  std::size_t overdue = 0;
  bool became_stuck = false;  // and the watch has not said so yet
  std::size_t live_workers = 0;
  bool closed = false;
  bool abandoned = false;  // finish() waited long enough
  bool finishing = false;  // the watch ends once it has answered everybody
  Clock::time_point closed_at;
  std::vector<std::thread> workers;
  std::list<Canceller> cancellers;
  std::thread watch;

  [[nodiscard]] Error refusal(ErrorCode code, const std::string& why) const {
    return {code, "A call in the lane " + options.name + " was not run: " + why, Millis{0}};
  }
  [[nodiscard]] Error stuck_error() const {
    return refusal(ErrorCode::deadline,
                   "an earlier call did not come back in time, so its instance is stuck.");
  }
  void refuse_queue(const Error& error) {
    for (Queued& queued : queue)
      refusals.push_back({std::move(queued.item.refuse), error});
    queue.clear();
  }
  std::vector<std::shared_ptr<Call>> take_running_for_cancel() {
    std::vector<std::shared_ptr<Call>> calls;
    for (Running& one : running) {
      if (!one.cancelled) calls.push_back(one.call);
      one.cancelled = true;
    }
    return calls;
  }

  void cancel_aside(std::vector<std::shared_ptr<Call>> calls);
  void run_canceller(std::vector<std::shared_ptr<Call>> calls, Canceller& self);
  void run_worker();
  void run_item(Item item, std::unique_lock<std::mutex>& lock);
  void run_watch();
  [[nodiscard]] Clock::time_point look(Clock::time_point now, std::vector<std::shared_ptr<Call>>& to_cancel);
};

// Hooks are a plugin's code and may block, so they run on a thread that only finish() waits for. Under the
// lock, so that finish() counts it; one that is done needs no lock any more.
void Lane::State::cancel_aside(std::vector<std::shared_ptr<Call>> calls) {
  if (calls.empty()) return;
  cancellers.remove_if([](Canceller& one) {
    if (one.done) one.thread.join();
    return one.done;
  });
  Canceller& started = cancellers.emplace_back();
  started.thread = std::thread([state = shared_from_this(), calls = std::move(calls), &started]() mutable {
    state->run_canceller(std::move(calls), started);
  });
}

void Lane::State::run_canceller(std::vector<std::shared_ptr<Call>> calls, Canceller& self) {
  const AlternateStack stack;
  for (const auto& call : calls)
    call->cancel();
  calls.clear();
  const std::lock_guard lock(mutex);
  self.done = true;
  ended.notify_all();
}

void Lane::State::run_worker() {
  const AlternateStack stack;
  std::unique_lock lock(mutex);
  while (true) {
    work.wait(lock, [&] { return closed || (!queue.empty() && overdue == 0); });
    if (closed) break;
    Item item = std::move(queue.front().item);
    queue.pop_front();
    run_item(std::move(item), lock);
  }
  --live_workers;
  ended.notify_all();
}

void Lane::State::run_item(Item item, std::unique_lock<std::mutex>& lock) {
  const Clock::time_point deadline = from(Clock::now(), item.deadline);
  const auto entry = running.insert(
      running.end(),
      Running{std::make_shared<Call>(std::move(item.correlation), deadline), item.refuse, deadline});
  const std::shared_ptr<Call> call = entry->call;
  watched.notify_all();
  lock.unlock();
  std::function<void()> deliver;
  try {
    deliver = item.run(*call);
  } catch (const std::exception& failure) {
    Error error{ErrorCode::internal, "A call in the lane " + options.name + " broke: " + failure.what(),
                Millis{0}};
    deliver = [refuse = item.refuse, error = std::move(error)] { refuse(error); };
  }
  lock.lock();
  const bool given_up = entry->given_up;
  running.erase(entry);
  if (given_up) {
    --overdue;
    work.notify_all();
  }
  lock.unlock();
  if (!given_up) deliver();
  // What the closures keep is released here, outside the lock.
  deliver = nullptr;
  item = Item{};
  lock.lock();
}

// Gives up what waited or ran too long; answers when to look again.
Clock::time_point Lane::State::look(Clock::time_point now, std::vector<std::shared_ptr<Call>>& to_cancel) {
  Clock::time_point next = now + longest;
  for (Running& one : running) {
    if (one.given_up) continue;
    const Clock::time_point overdue_at = from(one.deadline, options.grace);
    if (!one.cancelled && now >= one.deadline) {
      one.cancelled = true;
      to_cancel.push_back(one.call);
    }
    if (now >= overdue_at || abandoned) {
      one.given_up = true;
      became_stuck = became_stuck || (overdue == 0 && !abandoned);
      ++overdue;
      refusals.push_back(
          {std::move(one.refuse),
           {ErrorCode::deadline,
            "A call in the lane " + options.name + " did not come back in time; what it did is unknown.",
            Millis{0}}});
    } else {
      next = std::min(next, one.cancelled ? overdue_at : one.deadline);
    }
  }
  if (overdue > 0) refuse_queue(stuck_error());
  while (!queue.empty() && queue.front().give_up <= now) {
    refusals.push_back(
        {std::move(queue.front().item.refuse),
         refusal(ErrorCode::deadline, "it waited too long behind others; the instance is overloaded.")});
    queue.pop_front();
  }
  if (!queue.empty()) next = std::min(next, queue.front().give_up);
  return next;
}

void Lane::State::run_watch() {
  const AlternateStack stack;
  std::unique_lock lock(mutex);
  while (true) {
    std::vector<std::shared_ptr<Call>> to_cancel;
    const Clock::time_point next = look(Clock::now(), to_cancel);
    if (!to_cancel.empty() || !refusals.empty()) {
      std::vector<Refusal> answers = std::exchange(refusals, {});
      const bool say_stuck = std::exchange(became_stuck, false) && options.on_stuck;
      cancel_aside(std::move(to_cancel));
      lock.unlock();
      if (say_stuck) options.on_stuck();
      for (Refusal& one : answers)
        one.refuse(std::move(one.error));
      answers.clear();
      lock.lock();
      continue;  // time has passed, so look again before waiting
    }
    if (finishing) return;
    watched.wait_until(lock, next);
  }
}

Lane::Lane(LaneOptions options) : state_(std::make_shared<State>(std::move(options))) {
  const std::size_t threads = std::max<std::size_t>(state_->options.threads, 1);
  state_->live_workers = threads;
  state_->watch = std::thread([state = state_] { state->run_watch(); });
  for (std::size_t i = 0; i < threads; ++i)
    state_->workers.emplace_back([state = state_] { state->run_worker(); });
}

Lane::~Lane() { finish(); }

bool Lane::finish() {
  if (!state_->watch.joinable()) return !state_->abandoned;
  close();
  {
    std::unique_lock lock(state_->mutex);
    const bool all = state_->ended.wait_until(lock, from(state_->closed_at, state_->options.grace), [&] {
      return state_->live_workers == 0 && std::all_of(state_->cancellers.begin(), state_->cancellers.end(),
                                                      [](const State::Canceller& one) { return one.done; });
    });
    state_->abandoned = !all;
    state_->finishing = true;
    std::vector<std::shared_ptr<Call>> cancelled_before;
    (void)state_->look(Clock::now(), cancelled_before);
    state_->watched.notify_all();
  }
  state_->watch.join();
  // After an abandoned wait nobody knows which thread is the stuck one; all hold the shared state.
  const auto end = [abandoned = state_->abandoned](std::thread& thread) {
    abandoned ? thread.detach() : thread.join();
  };
  std::for_each(state_->workers.begin(), state_->workers.end(), end);
  for (State::Canceller& canceller : state_->cancellers)
    end(canceller.thread);
  return !state_->abandoned;
}

void Lane::enqueue(Item item) {
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  std::optional<Error> refused;
  if (state.closed)
    refused = state.refusal(ErrorCode::cancelled, "the lane is closed.");
  else if (state.overdue > 0)
    refused = state.stuck_error();
  else if (state.queue.size() >= state.options.queue_limit)
    refused = state.refusal(ErrorCode::busy, "too many calls wait; the instance is overloaded.");
  if (refused) {
    state.refusals.push_back({std::move(item.refuse), std::move(*refused)});
  } else {
    state.queue.push_back({std::move(item), from(Clock::now(), state.options.queue_deadline)});
    state.work.notify_one();
  }
  state.watched.notify_all();
}

bool Lane::stuck() const {
  const std::lock_guard lock(state_->mutex);
  return state_->overdue > 0;
}

std::size_t Lane::waiting() const {
  const std::lock_guard lock(state_->mutex);
  return state_->queue.size() + state_->running.size();
}

void Lane::cancel_all() {
  const std::lock_guard lock(state_->mutex);
  state_->refuse_queue(state_->refusal(ErrorCode::cancelled, "all calls of the lane were cancelled."));
  state_->cancel_aside(state_->take_running_for_cancel());
  state_->watched.notify_all();
}

void Lane::close() {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->closed) return;
    state_->closed = true;
    state_->closed_at = Clock::now();
    state_->work.notify_all();
  }
  cancel_all();
}

}  // namespace agent::plugin
