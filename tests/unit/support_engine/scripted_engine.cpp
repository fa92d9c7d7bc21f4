#include "unit/support_engine/scripted_engine.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <stdexcept>

namespace scripted {
namespace {

constexpr std::size_t most_kept = std::size_t{1} << 20;
constexpr std::size_t most_request = std::size_t{64} << 20;

// Reads until `text` holds `end`; false if the other side leaves first.
bool read_until(int socket, std::string& text, const std::string& end) {
  std::array<char, 65536> buffer{};
  while (text.find(end) == std::string::npos) {
    const ssize_t count = ::recv(socket, buffer.data(), buffer.size(), 0);
    if (count <= 0 || text.size() > most_request) return false;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return true;
}

bool read_size(int socket, std::string& text, std::size_t size) {
  std::array<char, 65536> buffer{};
  while (text.size() < size) {
    const ssize_t count = ::recv(socket, buffer.data(), buffer.size(), 0);
    if (count <= 0) return false;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return true;
}

std::string read_chunks(int socket, std::string text) {
  std::string body;
  while (true) {
    if (!read_until(socket, text, "\r\n")) return body;
    const std::size_t size = std::stoul(text, nullptr, 16);
    text.erase(0, text.find("\r\n") + 2);
    if (!read_size(socket, text, size + 2)) return body;
    body += text.substr(0, size);
    text.erase(0, size + 2);
    if (size == 0) return body;
  }
}

}  // namespace

void Line::say(const std::string& bytes) const {
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const ssize_t count = ::send(socket_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (count <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
}

void Line::trickle(const std::string& bytes) const {
  for (const char byte : bytes) {
    say(std::string(1, byte));
    pause(std::chrono::milliseconds(1));
  }
}

std::string Line::hear_all() const {
  std::string heard;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t count = ::recv(socket_, buffer.data(), buffer.size(), 0);
    if (count <= 0) return heard;
    heard.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

void Line::pause(std::chrono::milliseconds time) const { std::this_thread::sleep_for(time); }

Engine::Engine(Over over) {
  if (over == Over::unix_socket) {
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    const std::string path = directory_.path() + "/engine.sock";
    std::memcpy(name.sun_path, path.data(), path.size());
    if (::bind(listener_, reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0)
      throw std::runtime_error("no socket for the scripted engine");
  } else {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof name;
    if (::bind(listener_, reinterpret_cast<const sockaddr*>(&name), size) != 0)
      throw std::runtime_error("no port for the scripted engine");
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&name), &size);
    port_ = ntohs(name.sin_port);
  }
  ::listen(listener_, 16);
  on("GET /_ping", {reply(200, "OK", "Api-Version: 1.41\r\n")});
  on("GET /version",
     {reply(200,
            R"({"Version":"1","ApiVersion":"1.41","MinAPIVersion":"1.12","Os":"linux","Arch":"amd64"})")});
  acceptor_ = std::thread([this] { accept_all(); });
}

Engine::~Engine() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const int socket : open_)
      ::shutdown(socket, SHUT_RDWR);
  }
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  for (std::thread& thread : threads_)
    thread.join();
  ::close(listener_);
}

std::string Engine::address() const {
  return port_ == 0 ? "unix://" + directory_.path() + "/engine.sock"
                    : "tcp://127.0.0.1:" + std::to_string(port_);
}

void Engine::on(const std::string& beginning, std::vector<Answer> answers) {
  const std::lock_guard lock(mutex_);
  script_[beginning] = std::move(answers);
  turn_[beginning] = 0;
}

void Engine::forget(const std::string& beginning) {
  const std::lock_guard lock(mutex_);
  script_.erase(beginning);
}

std::vector<Asked> Engine::asked() const {
  const std::lock_guard lock(mutex_);
  return asked_;
}

std::vector<std::string> Engine::lines() const {
  std::vector<std::string> all;
  for (const Asked& one : asked())
    all.push_back(one.line);
  return all;
}

void Engine::accept_all() {
  while (true) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const std::lock_guard lock(mutex_);
    if (socket < 0 || stopping_) {
      if (socket >= 0) ::close(socket);
      return;
    }
    open_.insert(socket);
    threads_.emplace_back([this, socket] {
      serve(socket);
      const std::lock_guard ending(mutex_);
      open_.erase(socket);
      ::close(socket);
    });
  }
}

void Engine::serve(int socket) {
  std::string text;
  if (!read_until(socket, text, "\r\n\r\n")) return;
  Asked asked;
  const std::size_t end = text.find("\r\n\r\n") + 4;
  asked.head = text.substr(0, end);
  asked.body = text.substr(end);
  asked.line = asked.head.substr(0, asked.head.find(" HTTP/1.1"));
  if (const std::size_t version = asked.line.find(" /v1."); version != std::string::npos)
    asked.line.erase(version + 1, asked.line.find('/', version + 2) - version - 1);
  Answer answer;
  {
    const std::lock_guard lock(mutex_);
    std::optional<std::string> best;
    for (const auto& [beginning, answers] : script_) {
      if (asked.line.starts_with(beginning) && (!best || beginning.size() >= best->size())) best = beginning;
    }
    if (!best) {
      answer = reply(404, R"({"message":"not in the script"})");
    } else {
      const std::vector<Answer>& answers = script_.at(*best);
      answer = answers[std::min(turn_[*best]++, answers.size() - 1)];
    }
  }
  if (asked.head.find("Transfer-Encoding: chunked") != std::string::npos) {
    asked.body = read_chunks(socket, asked.body);
  } else if (const std::size_t at = asked.head.find("Content-Length: "); at != std::string::npos) {
    read_size(socket, asked.body, std::stoul(asked.head.substr(at + 16)));
  }
  {
    const std::lock_guard lock(mutex_);
    asked_.push_back({asked.line, asked.head, asked.body.size() <= most_kept ? asked.body : ""});
  }
  answer(asked, Line(socket));
}

Answer reply(int status, const std::string& body, const std::string& headers) {
  const std::string text =
      "HTTP/1.1 " + std::to_string(status) + " Word\r\n" + headers +
      "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  return [text](const Asked&, const Line& line) { line.say(text); };
}

Answer raw(const std::string& bytes) {
  return [bytes](const Asked&, const Line& line) { line.say(bytes); };
}

}  // namespace scripted
