// Where blocking calls run: a bounded queue with its own threads, deadlines that start with the call, and a
// watch over calls that do not come back.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "domain/result.hpp"
#include "plugin/call.hpp"

namespace agent::plugin {

struct LaneOptions {
  std::string name;
  std::size_t threads = 1;         // 1 keeps calls serial
  std::size_t queue_limit = 1024;  // more are refused with ErrorCode::busy
  domain::Millis queue_deadline{
      60'000};                  // a call that waits longer is answered with ErrorCode::deadline, not run
  domain::Millis grace{5'000};  // after its deadline a call is overdue by this before the lane is stuck
  std::shared_ptr<void>
      keep;  // what calls use; lives as long as any thread of the lane, also one left behind
  std::function<void()> on_stuck;  // on a thread of the lane, each time it becomes stuck; empty: nobody asks
};

// While a call is overdue the lane is stuck: every queued and new call is answered ErrorCode::deadline at
// once, until the overdue call returns. Each `done` runs exactly once, on a thread of the lane, and never
// under a lock of it; what a call returns after it was given up is dropped.
class Lane {
 public:
  explicit Lane(LaneOptions options);
  ~Lane();  // finish()
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  template <class T>
  void submit(std::string correlation, domain::Millis deadline, std::function<domain::Result<T>(Call&)> work,
              std::function<void(domain::Result<T>)> done) {
    struct Shared {
      std::function<domain::Result<T>(Call&)> work;
      std::function<void(domain::Result<T>)> done;
    };
    auto shared = std::make_shared<Shared>(Shared{std::move(work), std::move(done)});
    enqueue(Item{std::move(correlation), deadline,
                 [shared](Call& call) -> std::function<void()> {
                   auto answer = std::make_shared<domain::Result<T>>(shared->work(call));
                   return [shared, answer] { shared->done(std::move(*answer)); };
                 },
                 [shared](domain::Error error) { shared->done(domain::Result<T>(std::move(error))); }});
  }

  [[nodiscard]] bool stuck() const;
  [[nodiscard]] std::size_t waiting() const;  // queued and running calls
  void cancel_all();                          // asks running calls to end and answers queued ones `cancelled`
  void close();  // cancel_all for good: new calls are answered `cancelled`. Does not wait; once is enough
  // close(), then waits for running calls, and for what their cancellation runs, until `grace` after it and
  // leaves behind what does not come back. True if all of it came back: then no thread of the lane is left.
  // Calls submitted after this are dropped unanswered. Not thread-safe.
  bool finish();

 private:
  struct Item {
    std::string correlation;
    domain::Millis deadline;
    std::function<std::function<void()>(Call&)> run;  // does the work, answers how to deliver it
    std::function<void(domain::Error)> refuse;
  };
  void enqueue(Item item);
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace agent::plugin
