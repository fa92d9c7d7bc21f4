#include "package/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace agent::package {

using domain::Error;
using domain::ErrorCode;
using domain::Result;

namespace {

struct Shared {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::optional<Error> failure;
  void fail(Error error) {
    const std::lock_guard lock(mutex);
    if (!failure) failure = std::move(error);
    stop = true;
  }
};

void work(Shared& shared, std::size_t count, const std::function<Job()>& make) {
  try {
    const Job job = make();
    while (!shared.stop) {
      const auto index = shared.next.fetch_add(1);
      if (index >= count) return;
      auto done = job(index);
      if (!done) shared.fail(done.error());
    }
  } catch (const std::exception& e) {
    shared.fail(Error{ErrorCode::internal, std::string("work on a runner package failed: ") + e.what()});
  }
}

}  // namespace

Result<void> run_parallel(std::size_t count, const std::function<Job()>& make) {
  Shared shared;
  const auto threads = std::min<std::size_t>(count, std::clamp(std::thread::hardware_concurrency(), 2U, 4U));
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < threads; ++i) {
      try {
        others.emplace_back([&] { work(shared, count, make); });
      } catch (const std::system_error&) {
        break;  // no more threads to be had: the others do it
      }
    }
    work(shared, count, make);
  }
  if (shared.failure) return *shared.failure;
  return {};
}

}  // namespace agent::package
