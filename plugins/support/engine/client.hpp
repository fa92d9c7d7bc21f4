// A client of one container engine, Docker Engine or Podman, over the API that both serve. It logs nothing.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "rmgr/call.hpp"
#include "support/engine/exchange.hpp"
#include "support/engine/failure.hpp"
#include "support/engine/model.hpp"
#include "support/engine/stream.hpp"

namespace plugins::engine {

struct Options {
  Address address;
  std::optional<Tls> tls;
};

// The other end of a container's standard streams.
class Attached {
 public:
  Attached(std::unique_ptr<Stream> stream, std::string rest)
      : stream_(std::move(stream)), rest_(std::move(rest)) {}
  void write(std::string_view text, const rmgr::Call& call);
  // The container reads an end of its input.
  void finish_writing(const rmgr::Call& call);
  // Reads until the container has said `word`; false if its output ended, or went on too long, before.
  bool await(std::string_view word, const rmgr::Call& call);

 private:
  std::unique_ptr<Stream> stream_;
  std::string rest_;
};

// Thread-safe; each call uses a connection of its own. Everything throws rmgr::Error: NoConnection, Refused,
// or unreachable, bad_response, cancelled, deadline. A reference is an id or a name of ours.
class Client {
 public:
  explicit Client(Options options) : options_(std::move(options)) {}

  [[nodiscard]] const Address& address() const { return options_.address; }

  // Asks each time, and costs next to nothing.
  Ping ping(const rmgr::Call& call);
  // What an engine says about itself stays true while it runs, and some take their time to say it; so these
  // ask once, and again after the engine was away.
  Version version(const rmgr::Call& call);
  Info info(const rmgr::Call& call);

  // Answers the id. Refused with 409 where the name is taken.
  std::string create_container(const rmgr::Call& call, const std::string& name, const ContainerSpec& spec);
  // Nothing if there is none; every other doubt is an error.
  std::optional<Container> inspect_container(const rmgr::Call& call, const std::string& reference);
  // All of them, also those that do not run, that bear every label.
  std::vector<Listed> list_containers(const rmgr::Call& call, const Labels& labels);
  // False if it ran already.
  bool start_container(const rmgr::Call& call, const std::string& id);
  // Asks it to end, and kills it after `seconds`. Well if it does not run or is not there.
  void stop_container(const rmgr::Call& call, const std::string& id, int seconds);
  // Sends a signal, as "SIGTERM". Well if it does not run or is not there.
  void signal_container(const rmgr::Call& call, const std::string& id, const std::string& signal);
  // Until it does not run; false if it still does after `limit`.
  bool wait_container(const rmgr::Call& call, const std::string& id, std::chrono::milliseconds limit);
  // With its anonymous volumes, also while it runs. Well if it is not there.
  void remove_container(const rmgr::Call& call, const std::string& id);
  // Unpacks a tar archive at `path`, which must be a directory in the container.
  void put_archive(const rmgr::Call& call, const std::string& id, const std::string& path,
                   const std::function<void(const Emit&)>& archive);
  // Hands the bytes of an archive of `path` to `sink` until that answers false. False if there is no such
  // path.
  bool get_archive(const rmgr::Call& call, const std::string& id, const std::string& path,
                   const std::function<bool(std::string_view)>& sink);
  Attached attach(const rmgr::Call& call, const std::string& id);

  std::string create_network(const rmgr::Call& call, const std::string& name, const Labels& labels);
  std::vector<Listed> list_networks(const rmgr::Call& call, const Labels& labels);
  void remove_network(const rmgr::Call& call, const std::string& id);
  // The names of all volumes.
  std::vector<std::string> list_volumes(const rmgr::Call& call);

  std::optional<Image> inspect_image(const rmgr::Call& call, const std::string& reference);
  // `credential`: what write_credential made; empty: none. `platform`: as windows/amd64; empty: the engine's
  // own. Refused as pull_refused says it.
  void pull_image(const rmgr::Call& call, const std::string& reference, const std::string& credential,
                  const std::string& platform = "");

 private:
  // At the version that is spoken.
  Response send(const rmgr::Call& call, Request request, const Sink& sink = {},
                std::optional<std::chrono::milliseconds> limit = std::nullopt);
  std::string versioned(const rmgr::Call& call, const std::string& path);
  std::unique_ptr<Stream> open(const Waiter& waiter) const;
  std::string api(const rmgr::Call& call);
  Response ask(const rmgr::Call& call, const Request& request, const Sink& sink = {},
               std::optional<std::chrono::milliseconds> limit = std::nullopt);
  void forget();

  struct Known {
    std::string api;  // the version that is spoken, once it is negotiated
    std::optional<Version> version;
    std::optional<Info> info;
  };

  Options options_;
  std::mutex mutex_;
  Known known_;
};

}  // namespace plugins::engine
