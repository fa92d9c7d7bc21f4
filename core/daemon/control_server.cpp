#include "daemon/control_server.hpp"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <optional>
#include <set>
#include <utility>

#include "daemon/control_socket.hpp"

namespace agent::daemon {
namespace {

namespace asio = boost::asio;
using Protocol = asio::local::stream_protocol;
using boost::system::error_code;
using domain::Error;
using domain::ErrorCode;

constexpr std::size_t kMostConnections = 16;
constexpr std::chrono::seconds kPatience{10};
constexpr std::chrono::milliseconds kPauseAfterFailure{200};

}  // namespace

struct ControlServer::State : std::enable_shared_from_this<ControlServer::State> {
  struct Connection;

  State(asio::io_context& io, ControlSocket listening, ControlHandler on_request, observe::Log* events)
      : socket(std::move(listening)),
        group(socket->group()),
        acceptor(io, Protocol(), socket->release()),
        pause(io),
        handler(std::move(on_request)),
        log(events) {}

  void accept();
  void serve(Protocol::socket peer);
  void retry_later();
  void answer(const std::string& request, const ControlReply& reply);
  void stop();

  std::optional<ControlSocket> socket;
  gid_t group;
  Protocol::acceptor acceptor;
  asio::steady_timer pause;
  ControlHandler handler;
  observe::Log* log;
  std::set<std::shared_ptr<Connection>> connections;
  bool stopped = false;
};

// One request and one response. Every pending operation holds the connection; the state holds it until it
// ends.
struct ControlServer::State::Connection : std::enable_shared_from_this<Connection> {
  Connection(Protocol::socket socket, std::weak_ptr<State> server)
      : peer(std::move(socket)), timer(peer.get_executor()), owner(std::move(server)) {}

  void start() {
    arm();
    asio::async_read_until(peer, asio::dynamic_buffer(line, kLargestControlRequest + 1), '\n',
                           [self = shared_from_this()](const error_code& error, std::size_t size) {
                             self->received(error, size);
                           });
  }

  void received(const error_code& error, std::size_t size) {
    const auto server = owner.lock();
    if (!server || server->stopped) return;
    if (error == asio::error::not_found) {
      respond(control_error({ErrorCode::invalid, "a request has at most 64 KiB and ends with its line"}));
    } else if (error) {
      end();
    } else {
      line.resize(size - 1);
      arm();
      server->answer(line, [self = shared_from_this()](std::string text) {
        if (self->peer.is_open()) self->respond(std::move(text));
      });
    }
  }

  void respond(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    response = std::move(text) + "\n";
    arm();
    asio::async_write(peer, asio::buffer(response),
                      [self = shared_from_this()](const error_code&, std::size_t) { self->end(); });
  }

  void arm() {
    timer.expires_after(kPatience);
    timer.async_wait([self = shared_from_this()](const error_code& error) {
      if (!error) self->end();
    });
  }

  void end() {
    close();
    if (const auto server = owner.lock()) server->connections.erase(shared_from_this());
  }

  void close() {
    error_code ignored;
    timer.cancel(ignored);
    peer.close(ignored);
  }

  Protocol::socket peer;
  asio::steady_timer timer;
  std::weak_ptr<State> owner;
  std::string line;
  std::string response;
};

void ControlServer::State::accept() {
  acceptor.async_accept([self = shared_from_this()](const error_code& error, Protocol::socket peer) {
    if (self->stopped || error == asio::error::operation_aborted) return;
    if (error) {
      self->retry_later();
      return;
    }
    self->serve(std::move(peer));
    self->accept();
  });
}

void ControlServer::State::serve(Protocol::socket peer) {
  if (!peer_allowed(peer.native_handle(), group)) {
    if (log != nullptr) {
      log->write(
          observe::Level::warning, observe::Event::control_refused,
          {{observe::Field::message, std::string("the peer is neither root nor in the socket's group")}});
    }
    return;
  }
  auto connection = std::make_shared<Connection>(std::move(peer), weak_from_this());
  const bool full = connections.size() >= kMostConnections;
  connections.insert(connection);
  if (!full) {
    connection->start();
    return;
  }
  // One line fits into an empty socket's buffer, so the answer costs no waiting and no place.
  const std::string refusal = control_error({ErrorCode::busy, "too many connections; try again"}) + "\n";
  error_code ignored;
  connection->peer.non_blocking(true, ignored);
  connection->peer.write_some(asio::buffer(refusal), ignored);
  connection->end();
}

// Accepting fails while descriptors are short; asking again at once would only burn time.
void ControlServer::State::retry_later() {
  pause.expires_after(kPauseAfterFailure);
  pause.async_wait([self = shared_from_this()](const error_code& error) {
    if (!error && !self->stopped) self->accept();
  });
}

void ControlServer::State::answer(const std::string& request, const ControlReply& reply) {
  const auto command = control_command(request);
  if (!command) return reply(control_error(command.error()));
  const auto bounded = [reply](std::string response) {
    reply(response.size() <= kLargestControlResponse
              ? std::move(response)
              : control_error({ErrorCode::full, "the answer is larger than 64 MiB; ask for less"}));
  };
  try {
    handler(*command, request, bounded);
  } catch (const std::exception&) {
    reply(control_error({ErrorCode::internal, "the request failed inside the daemon; this is a defect"}));
  }
}

void ControlServer::State::stop() {
  stopped = true;
  error_code ignored;
  acceptor.close(ignored);
  pause.cancel(ignored);
  for (const auto& connection : connections)
    connection->close();
  connections.clear();
  socket.reset();
}

domain::Result<std::unique_ptr<ControlServer>> ControlServer::start(asio::io_context& loop,
                                                                    const std::string& path,
                                                                    ControlHandler handler,
                                                                    observe::Log* log) {
  auto socket = ControlSocket::listen(path);
  if (!socket) return socket.error();
  auto state = std::make_shared<State>(loop, std::move(*socket), std::move(handler), log);
  state->accept();
  return std::unique_ptr<ControlServer>(new ControlServer(std::move(state)));
}

ControlServer::ControlServer(std::shared_ptr<State> state) : state_(std::move(state)) {}

ControlServer::~ControlServer() { state_->stop(); }

}  // namespace agent::daemon
