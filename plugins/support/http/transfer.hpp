// One exchange between the thread that waits and the loop thread. Internal to the library.
#pragma once

#include <curl/curl.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "support/http/client.hpp"
#include "support/http/message.hpp"

namespace plugins::http {

class Transfer;

// Where the loop thread tells one waiting thread that something happened. Shared, so that either may leave
// first.
struct Mailbox {
  std::mutex mutex;
  std::condition_variable changed;
  bool cancelled = false;
  std::deque<const Transfer*>
      finished;  // only names them: the waiting thread keeps what it still wants alive
};

struct FreeEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct WipeList {
  void operator()(curl_slist* list) const;
};

// Made by the waiting thread; from Loop::add until it is finished or removed, its handle belongs to the loop
// thread.
class Transfer {
 public:
  Transfer(std::shared_ptr<Mailbox> box, Request request, std::uint64_t tag, bool streaming);
  // Readies the handle; an empty string if it may be sent, else why not.
  std::string prepare(const Options& options, const Secret& proxy_credentials);

  [[nodiscard]] CURL* easy() const { return easy_.get(); }
  [[nodiscard]] std::uint64_t tag() const { return tag_; }
  [[nodiscard]] Request& request() { return request_; }

  // Loop thread.
  void finish(CURLcode code);
  // Waiting thread: nothing that still arrives is wanted.
  void abandon() { abandoned_.store(true); }

  // Waiting thread, after it finished.
  [[nodiscard]] bool failed() const { return code_ != CURLE_OK; }
  Outcome take_outcome();
  [[nodiscard]] std::string redirect_target() const;

  // Streaming, under the mailbox's mutex.
  struct Stream {
    bool head_ready = false;  // response_ has status and headers and is not written any more
    bool done = false;
    bool paused = false;
    std::string pending;
  };
  Stream& stream() { return stream_; }
  Mailbox& mailbox() { return *box_; }
  // Streaming, waiting thread, once head_ready.
  Response& response() { return response_; }

 private:
  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self) noexcept;
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self) noexcept;
  static std::size_t on_upload(char* data, std::size_t size, std::size_t count, void* self) noexcept;
  bool add_header(std::string_view line);
  std::size_t add_body(std::string_view bytes);
  [[nodiscard]] Failure failure() const;
  template <class T>
  bool set(CURLoption option, T value) {
    return curl_easy_setopt(easy_.get(), option, value) == CURLE_OK;
  }

  std::shared_ptr<Mailbox> box_;
  Request request_;
  std::uint64_t tag_;
  bool streaming_;
  std::string peer_;
  std::unique_ptr<CURL, FreeEasy> easy_;
  std::unique_ptr<curl_slist, WipeList> lines_;
  std::array<char, CURL_ERROR_SIZE> detail_{};
  std::atomic<bool> abandoned_{false};
  std::size_t sent_ = 0;
  std::size_t header_bytes_ = 0;
  bool too_large_ = false;
  bool began_ = false;
  CURLcode code_ = CURLE_OK;
  Response response_;
  Stream stream_;
};

}  // namespace plugins::http
