// The thread that drives all transfers of one client. Internal to the library.
#pragma once

#include <curl/curl.h>

#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "support/http/transfer.hpp"

namespace plugins::http {

// add, remove and resume are thread-safe and return at once.
class Loop {
 public:
  explicit Loop(const Options& options);
  ~Loop();  // gives up what still runs
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void add(std::shared_ptr<Transfer> transfer);
  void remove(std::shared_ptr<Transfer> transfer);
  void resume(std::shared_ptr<Transfer> transfer);

 private:
  enum class Kind { add, remove, resume };
  struct Command {
    Kind kind;
    std::shared_ptr<Transfer> transfer;
  };
  struct FreeMulti {
    void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
  };

  void post(Command command);
  void run();
  bool obey();  // false: stop
  void finish(CURL* easy, CURLcode code);
  void finish_all(CURLcode code);

  std::unique_ptr<CURLM, FreeMulti> multi_;
  std::map<CURL*, std::shared_ptr<Transfer>> running_;  // loop thread only
  std::mutex mutex_;
  std::vector<Command> commands_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace plugins::http
