#include "support/http/loop.hpp"

#include <pthread.h>

#include <csignal>
#include <new>
#include <stdexcept>
#include <utility>

namespace plugins::http {
namespace {

constexpr long kKeptConnections = 16;
constexpr int kIdlePollMs = 60'000;  // libcurl's own timers and curl_multi_wakeup end a poll earlier

// libcurl wants to be readied once in a process and the library is never unloaded, so nothing undoes it. A
// local constant is initialised once whichever thread comes first, and leaves no state that anybody could
// change.
void ready_libcurl() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (code != CURLE_OK) throw std::runtime_error("libcurl cannot be initialised");
}

// Signals belong to the host's threads. A new thread inherits the mask, so it is made with all of them
// blocked.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

Loop::Loop(const Options& options) {
  ready_libcurl();
  multi_.reset(curl_multi_init());
  if (!multi_) throw std::bad_alloc();
  curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, kKeptConnections);
  curl_multi_setopt(multi_.get(), CURLMOPT_MAX_HOST_CONNECTIONS,
                    static_cast<long>(options.max_host_connections));
  const BlockedSignals blocked;
  thread_ = std::thread([this] { run(); });
}

Loop::~Loop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  curl_multi_wakeup(multi_.get());
  thread_.join();
}

void Loop::add(std::shared_ptr<Transfer> transfer) { post({Kind::add, std::move(transfer)}); }
void Loop::remove(std::shared_ptr<Transfer> transfer) { post({Kind::remove, std::move(transfer)}); }
void Loop::resume(std::shared_ptr<Transfer> transfer) { post({Kind::resume, std::move(transfer)}); }

void Loop::post(Command command) {
  {
    const std::lock_guard lock(mutex_);
    commands_.push_back(std::move(command));
  }
  curl_multi_wakeup(multi_.get());
}

void Loop::run() {
  pthread_setname_np(pthread_self(), "rmgr-http");
  while (obey()) {
    int active = 0;
    if (curl_multi_perform(multi_.get(), &active) != CURLM_OK) finish_all(CURLE_OUT_OF_MEMORY);
    int left = 0;
    while (const auto* message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg == CURLMSG_DONE) finish(message->easy_handle, message->data.result);
    }
    curl_multi_poll(multi_.get(), nullptr, 0, kIdlePollMs, nullptr);
  }
  finish_all(CURLE_ABORTED_BY_CALLBACK);
}

bool Loop::obey() {
  std::vector<Command> commands;
  {
    const std::lock_guard lock(mutex_);
    if (stop_) return false;
    commands.swap(commands_);
  }
  for (auto& [kind, transfer] : commands) {
    auto* easy = transfer->easy();
    switch (kind) {
      case Kind::add:
        running_.emplace(easy, transfer);
        if (curl_multi_add_handle(multi_.get(), easy) != CURLM_OK) {
          running_.erase(easy);
          transfer->finish(CURLE_OUT_OF_MEMORY);
        }
        break;
      case Kind::remove:
        if (running_.erase(easy) != 0) curl_multi_remove_handle(multi_.get(), easy);
        break;
      case Kind::resume:
        if (running_.contains(easy)) curl_easy_pause(easy, CURLPAUSE_CONT);
        break;
    }
  }
  return true;
}

void Loop::finish(CURL* easy, CURLcode code) {
  const auto found = running_.find(easy);
  if (found == running_.end()) return;
  const auto transfer = std::move(found->second);
  running_.erase(found);
  curl_multi_remove_handle(multi_.get(), easy);
  transfer->finish(code);
}

void Loop::finish_all(CURLcode code) {
  while (!running_.empty())
    finish(running_.begin()->first, code);
}

}  // namespace plugins::http
