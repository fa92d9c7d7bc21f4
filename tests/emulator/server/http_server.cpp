#include "server/http_server.hpp"

#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <csignal>
#include <fstream>
#include <optional>
#include <stdexcept>

#include "wire/text.hpp"

namespace emulator {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using tcp = asio::ip::tcp;

constexpr std::uint64_t kBodyLimit = 4U << 20U;
constexpr std::uint32_t kHeaderLimit = 64U << 10U;
constexpr auto kIdleLimit = std::chrono::minutes(5);
constexpr std::size_t kFilePiece = 256U << 10U;
constexpr std::size_t kSlowPieces = 20;

// One connection: reads a request, hands it over, writes the answer, reads the next. While an answer is
// awaited it watches for the end of the stream, so that a caller who left is known at once.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, const Handler& handler)
      : stream_(std::move(socket)), pace_(stream_.get_executor()), handler_(handler) {
    error_code ignored;
    stream_.socket().set_option(tcp::no_delay(true), ignored);
  }

  void read() {
    parser_.emplace();
    parser_->body_limit(kBodyLimit);
    parser_->header_limit(kHeaderLimit);
    stream_.expires_after(kIdleLimit);
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](error_code error, std::size_t) { self->on_read(error); });
  }

 private:
  class Pending final : public Exchange {
   public:
    Pending(std::shared_ptr<Connection> connection, std::uint64_t turn)
        : connection_(std::move(connection)), turn_(turn) {}
    void respond(Response response) override { connection_->respond(turn_, std::move(response)); }
    void on_gone(std::function<void()> gone) override { connection_->set_gone(turn_, std::move(gone)); }

   private:
    std::shared_ptr<Connection> connection_;
    std::uint64_t turn_;
  };

  void on_read(error_code error) {
    if (error) return close();
    stream_.expires_never();
    const auto& message = parser_->get();
    keep_alive_ = message.keep_alive();
    head_only_ = message.method() == http::verb::head;
    Request request;
    request.method = std::string(message.method_string());
    set_target(request, std::string_view(message.target().data(), message.target().size()));
    for (const auto& field : message) {
      request.headers[lower(std::string_view(field.name_string().data(), field.name_string().size()))] =
          std::string(field.value());
    }
    request.body = parser_->get().body();
    const auto turn = ++turn_;
    waiting_ = true;
    handler_(std::move(request), std::make_shared<Pending>(shared_from_this(), turn));
    if (waiting_ && turn == turn_) watch();
  }

  void watch() {
    stream_.socket().async_wait(
        tcp::socket::wait_read, [self = shared_from_this(), turn = turn_](error_code error) {
          if (error || turn != self->turn_ || !self->waiting_) return;
          char byte = 0;
          self->stream_.socket().receive(asio::buffer(&byte, 1), tcp::socket::message_peek, error);
          if (error) self->leave();
        });
  }

  void set_gone(std::uint64_t turn, std::function<void()> gone) {
    if (turn == turn_ && waiting_) gone_ = std::move(gone);
  }

  void leave() {
    waiting_ = false;
    close();
    if (auto gone = std::exchange(gone_, nullptr)) gone();
  }

  void respond(std::uint64_t turn, Response response) {
    if (turn != turn_ || !waiting_) return;
    waiting_ = false;
    gone_ = nullptr;
    error_code ignored;
    stream_.socket().cancel(ignored);
    if (response.delivery == Delivery::dropped) return close();
    response_ = std::move(response);
    const bool bodiless = response_.status == 204 || response_.status == 304;
    const std::uint64_t size = response_.file.empty() ? response_.body.size() : response_.file_size;
    head_ = "HTTP/1.1 " + std::to_string(response_.status) + " " +
            std::string(http::obsolete_reason(http::int_to_status(static_cast<unsigned>(response_.status)))) +
            "\r\n";
    for (const auto& [name, value] : response_.headers)
      head_.append(name).append(": ").append(value).append("\r\n");
    if (!bodiless) head_ += "Content-Length: " + std::to_string(size) + "\r\n";
    if (!keep_alive_) head_ += "Connection: close\r\n";
    head_ += "\r\n";
    if (bodiless || head_only_) response_.body.clear();
    if (bodiless || head_only_) response_.file.clear();
    if (!response_.file.empty()) return write_head_then_file();
    if (response_.delivery == Delivery::slow) return write_piece(true);
    if (response_.delivery == Delivery::cut) {
      keep_alive_ = false;
      response_.body.resize(response_.body.size() / 2);
    }
    head_ += response_.body;
    asio::async_write(
        stream_.socket(), asio::buffer(head_),
        [self = shared_from_this()](error_code error, std::size_t) { self->on_written(error); });
  }

  void write_piece(bool first) {
    const std::size_t piece = response_.body.size() / kSlowPieces + 1;
    if (!first) head_ = response_.body.substr(0, piece);
    if (!first) response_.body.erase(0, piece);
    asio::async_write(
        stream_.socket(), asio::buffer(head_), [self = shared_from_this()](error_code error, std::size_t) {
          if (error || self->response_.body.empty()) return self->on_written(error);
          self->pace_.expires_after(std::chrono::milliseconds(self->response_.slow_ms) / kSlowPieces);
          self->pace_.async_wait([self](error_code stopped) {
            if (!stopped) self->write_piece(false);
          });
        });
  }

  void write_head_then_file() {
    file_.open(response_.file, std::ios::binary);
    file_.seekg(static_cast<std::streamoff>(response_.file_offset));
    file_left_ = response_.delivery == Delivery::cut ? response_.file_size / 2 : response_.file_size;
    if (response_.delivery == Delivery::cut) keep_alive_ = false;
    write_file_piece();
  }

  void write_file_piece() {
    asio::async_write(
        stream_.socket(), asio::buffer(head_), [self = shared_from_this()](error_code error, std::size_t) {
          if (error || self->file_left_ == 0) {
            self->file_.close();
            return self->on_written(error);
          }
          self->head_.resize(std::min<std::uint64_t>(kFilePiece, self->file_left_));
          if (!self->file_.read(self->head_.data(), static_cast<std::streamsize>(self->head_.size())))
            return self->close();
          self->file_left_ -= self->head_.size();
          self->write_file_piece();
        });
  }

  void on_written(error_code error) {
    if (error || !keep_alive_) return close();
    read();
  }

  void close() {
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
    stream_.socket().close(ignored);
  }

  beast::tcp_stream stream_;
  asio::steady_timer pace_;
  const Handler& handler_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::uint64_t turn_ = 0;
  bool waiting_ = false;
  bool keep_alive_ = true;
  bool head_only_ = false;
  std::function<void()> gone_;
  Response response_;
  std::string head_;
  std::ifstream file_;
  std::uint64_t file_left_ = 0;
};

}  // namespace

struct HttpServer::State {
  asio::io_context context{1};
  tcp::acceptor acceptor{context};
  asio::signal_set signals{context};
  std::optional<asio::posix::stream_descriptor> input;
  char input_byte = 0;
  Handler handler;

  void accept() {
    acceptor.async_accept([this](error_code error, tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (!error) std::make_shared<Connection>(std::move(socket), handler)->read();
      accept();
    });
  }

  void every(std::chrono::milliseconds period, const std::shared_ptr<asio::steady_timer>& timer,
             std::function<void()> work) {
    timer->expires_after(period);
    timer->async_wait([this, period, timer, work = std::move(work)](error_code error) {
      if (error) return;
      work();
      every(period, timer, work);
    });
  }

  void read_input() {
    input->async_read_some(asio::buffer(&input_byte, 1), [this](error_code error, std::size_t) {
      if (error) return context.stop();
      read_input();
    });
  }
};

HttpServer::HttpServer(const std::string& address, std::uint16_t port) : state_(std::make_unique<State>()) {
  error_code error;
  const auto parsed = asio::ip::make_address(address, error);
  if (error || !parsed.is_loopback()) {
    throw std::runtime_error("the emulator listens on loopback addresses only, not on " + address);
  }
  const tcp::endpoint endpoint(parsed, port);
  state_->acceptor.open(endpoint.protocol());
  state_->acceptor.set_option(tcp::acceptor::reuse_address(true));
  state_->acceptor.bind(endpoint, error);
  if (error) {
    throw std::runtime_error("cannot listen on " + address + " port " + std::to_string(port) + ": " +
                             error.message());
  }
  state_->acceptor.listen();
}

HttpServer::~HttpServer() = default;

std::uint16_t HttpServer::port() const { return state_->acceptor.local_endpoint().port(); }

void HttpServer::serve(Handler handler) {
  state_->handler = std::move(handler);
  state_->accept();
}

void HttpServer::after(std::chrono::milliseconds delay, std::function<void()> work) {
  auto timer = std::make_shared<asio::steady_timer>(state_->context, delay);
  timer->async_wait([timer, work = std::move(work)](error_code error) {
    if (!error) work();
  });
}

void HttpServer::every(std::chrono::milliseconds period, std::function<void()> work) {
  state_->every(period, std::make_shared<asio::steady_timer>(state_->context), std::move(work));
}

void HttpServer::stop_on_signals() {
  state_->signals.add(SIGINT);
  state_->signals.add(SIGTERM);
  state_->signals.async_wait([this](error_code error, int) {
    if (!error) stop();
  });
}

void HttpServer::stop_on_input_end() {
  state_->input.emplace(state_->context, ::dup(STDIN_FILENO));
  state_->read_input();
}

void HttpServer::run() { state_->context.run(); }

void HttpServer::stop() { state_->context.stop(); }

}  // namespace emulator
