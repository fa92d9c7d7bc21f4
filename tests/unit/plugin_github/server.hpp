// A scripted HTTP server on loopback: plain sockets, one thread a connection, answers by the request's first
// line.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace plugin_test {

struct Seen {
  std::string line;                            // "GET /path?query"
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  [[nodiscard]] std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

struct Reply {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string body{};
  enum class Manner {
    whole,
    hold,        // no answer at all until the client or the test leaves
    drop,        // closes without an answer
    drop_body,   // closes after half the body
    stall_body,  // sends half the body and then nothing
    raw          // body is everything that is sent, then it closes
  };
  Manner manner = Manner::whole;
};

Reply json(std::string body, int status = 200, std::vector<std::pair<std::string, std::string>> headers = {});

class Server {
 public:
  Server();
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] std::uint16_t port() const { return port_; }

  // The replies to one request line come in turn; the last one stays.
  void on(const std::string& line, std::vector<Reply> replies);
  // Asked first; an empty status falls through to the script.
  void on_any(std::function<Reply(const Seen&)> answer);

  [[nodiscard]] std::vector<Seen> seen() const;
  [[nodiscard]] std::size_t count(const std::string& line) const;
  [[nodiscard]] std::size_t connections() const;
  // Waits until so many requests have arrived; false after ten seconds.
  [[nodiscard]] bool wait_for(std::size_t requests) const;

 private:
  void accept_all();
  void serve(int socket);
  Reply reply_to(const Seen& request);
  bool send_reply(int socket, const Reply& reply);
  void hold(int socket);

  int listener_ = -1;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  bool stopping_ = false;
  std::set<int> open_;
  std::size_t connections_ = 0;
  std::map<std::string, std::deque<Reply>> script_;
  std::function<Reply(const Seen&)> any_;
  std::vector<Seen> seen_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace plugin_test
