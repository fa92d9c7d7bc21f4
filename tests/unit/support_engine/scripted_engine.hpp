// An engine that says what a test tells it to, on a unix socket of its own or on loopback. One thread a
// connection.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support/temporary.hpp"

namespace scripted {

struct Asked {
  std::string line;  // "GET /path?query"
  std::string head;  // all of the head, as it came
  std::string body;  // without chunk headers; of what was asked, kept only up to 1 MiB
};

// The connection while its answer is written; what is received is what comes behind the request.
class Line {
 public:
  explicit Line(int socket) : socket_(socket) {}
  void say(const std::string& bytes) const;
  // Sends one byte at a time, so that every boundary is met.
  void trickle(const std::string& bytes) const;
  // Until the other side has finished.
  [[nodiscard]] std::string hear_all() const;
  void pause(std::chrono::milliseconds time) const;

 private:
  int socket_;
};

using Answer = std::function<void(const Asked&, const Line&)>;

class Engine {
 public:
  enum class Over { unix_socket, tcp };
  explicit Engine(Over over = Over::unix_socket);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  [[nodiscard]] std::string address() const;
  // For requests whose first line begins with `beginning` behind the version; the longest beginning wins, and
  // an empty one takes all that no other does. The answers come in turn and the last stays.
  void on(const std::string& beginning, std::vector<Answer> answers);
  // Takes back what `on` said for that very beginning.
  void forget(const std::string& beginning);
  [[nodiscard]] std::vector<Asked> asked() const;
  [[nodiscard]] std::vector<std::string> lines() const;

 private:
  void accept_all();
  void serve(int socket);

  testkit::TemporaryDirectory directory_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  bool stopping_ = false;
  std::set<int> open_;
  std::map<std::string, std::vector<Answer>> script_;
  std::map<std::string, std::size_t> turn_;
  std::vector<Asked> asked_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

// An ordinary answer with a length.
Answer reply(int status, const std::string& body, const std::string& headers = "");
// These bytes and no more.
Answer raw(const std::string& bytes);

}  // namespace scripted
