#include "support/engine/client.hpp"

#include <array>
#include <charconv>

#include "support/engine/json.hpp"

namespace plugins::engine {
namespace {

using rmgr::Call;
using rmgr::Error;
using rmgr::Status;

// Everything that is asked for exists in all of these.
constexpr int api_major = 1;
constexpr int oldest_minor = 24;
constexpr int newest_minor = 47;

constexpr std::chrono::seconds connect_patience{10};
constexpr std::size_t most_output = std::size_t{64} << 10;

// The minor of "1.N".
std::optional<int> minor_of(std::string_view version) {
  if (!version.starts_with("1.")) return std::nullopt;
  version.remove_prefix(2);
  int minor = 0;
  const auto read = std::from_chars(version.data(), version.data() + version.size(), minor);
  if (read.ec != std::errc() || minor < 0) return std::nullopt;
  return minor;
}

bool succeeded(const Response& answer) { return answer.status >= 200 && answer.status < 300; }

Request request(std::string method, std::string target) {
  Request made;
  made.method = std::move(method);
  made.target = std::move(target);
  return made;
}

Request posting(std::string target, std::string json) {
  Request made = request("POST", std::move(target));
  made.content_type = "application/json";
  made.body = std::move(json);
  return made;
}

}  // namespace

void Attached::write(std::string_view text, const Call& call) {
  const Waiter waiter(call);
  stream_->write_all(text, waiter);
}

void Attached::finish_writing(const Call& call) {
  const Waiter waiter(call);
  stream_->finish_writing(waiter);
}

bool Attached::await(std::string_view word, const Call& call) {
  const Waiter waiter(call);
  std::array<char, 4096> buffer{};
  std::size_t total = rest_.size();
  while (rest_.find(word) == std::string::npos) {
    if (total > most_output) return false;
    const std::size_t count = stream_->read_some(buffer, waiter);
    if (count == 0) return false;
    total += count;
    rest_.append(buffer.data(), count);
  }
  return true;
}

std::unique_ptr<Stream> Client::open(const Waiter& waiter) const {
  const Waiter connecting(waiter.call(), connect_patience);
  return open_stream(options_.address, options_.tls ? &*options_.tls : nullptr, connecting);
}

// A new engine may stand behind the same address, so whatever fails makes what it is a question again.
void Client::forget() {
  const std::lock_guard lock(mutex_);
  known_ = {};
}

Response Client::ask(const Call& call, const Request& request, const Sink& sink,
                     std::optional<std::chrono::milliseconds> limit) {
  try {
    const Waiter waiter(call, limit);
    const auto stream = open(waiter);
    return exchange(*stream, request, waiter, sink);
  } catch (const Error&) {
    forget();
    throw;
  }
}

Ping Client::ping(const Call& call) {
  const Response answer = ask(call, request("GET", "/_ping"));
  if (!succeeded(answer)) throw refused("answer a ping", answer);
  return {answer.podman ? "podman" : "docker", presentable(answer.api_version), presentable(answer.os)};
}

Version Client::version(const Call& call) {
  {
    const std::lock_guard lock(mutex_);
    if (known_.version) return *known_.version;
  }
  const Response answer = ask(call, request("GET", "/version"));
  if (!succeeded(answer)) throw refused("tell its version", answer);
  Version version = read_version(answer.body);
  const std::lock_guard lock(mutex_);
  known_.version = version;
  return version;
}

std::string Client::api(const Call& call) {
  {
    const std::lock_guard lock(mutex_);
    if (!known_.api.empty()) return known_.api;
  }
  std::string theirs = ping(call).api;
  int oldest = 0;
  // Only its version says what it does not speak any more, which matters where it is newer than this agent.
  if (minor_of(theirs).value_or(newest_minor + 1) > newest_minor) {
    const Version said = version(call);
    theirs = said.api;
    oldest = minor_of(said.oldest_api).value_or(0);
  }
  const auto newest = minor_of(theirs);
  if (!newest || *newest < oldest_minor || oldest > newest_minor) {
    throw Error(Status::unsupported, "The container engine speaks API version " + presentable(theirs) +
                                         (oldest > 0 ? " down to 1." + std::to_string(oldest) : "") +
                                         ", and this agent 1." + std::to_string(oldest_minor) + " to 1." +
                                         std::to_string(newest_minor) +
                                         "; use another version of one of them.");
  }
  const std::lock_guard lock(mutex_);
  known_.api = "/v" + std::to_string(api_major) + "." + std::to_string(std::min(*newest, newest_minor));
  return known_.api;
}

std::string Client::versioned(const Call& call, const std::string& path) { return api(call) + path; }

Response Client::send(const Call& call, Request request, const Sink& sink,
                      std::optional<std::chrono::milliseconds> limit) {
  request.target = versioned(call, request.target);
  return ask(call, request, sink, limit);
}

Info Client::info(const Call& call) {
  {
    const std::lock_guard lock(mutex_);
    if (known_.info) return *known_.info;
  }
  const Response answer = send(call, request("GET", "/info"));
  if (!succeeded(answer)) throw refused("describe itself", answer);
  Info info = read_info(answer.body);
  const std::lock_guard lock(mutex_);
  known_.info = info;
  return info;
}

std::string Client::create_container(const Call& call, const std::string& name, const ContainerSpec& spec) {
  std::string target = "/containers/create?name=" + percent_encode(name);
  if (!spec.platform.empty()) target += "&platform=" + percent_encode(spec.platform);
  const Response answer = send(call, posting(std::move(target), write_container(spec)));
  if (!succeeded(answer)) throw refused("create the container " + name, answer);
  return read_id(answer.body);
}

std::optional<Container> Client::inspect_container(const Call& call, const std::string& reference) {
  const Response answer = send(call, request("GET", "/containers/" + percent_encode(reference) + "/json"));
  if (answer.status == 404) return std::nullopt;
  if (!succeeded(answer)) throw refused("show a container", answer);
  return read_container(answer.body);
}

std::vector<Listed> Client::list_containers(const Call& call, const Labels& labels) {
  const Response answer = send(call, request("GET", "/containers/json?all=true&filters=" +
                                                        percent_encode(write_label_filter(labels))));
  if (!succeeded(answer)) throw refused("list its containers", answer);
  return read_containers(answer.body);
}

bool Client::start_container(const Call& call, const std::string& id) {
  const Response answer = send(call, request("POST", "/containers/" + percent_encode(id) + "/start"));
  if (answer.status == 304) return false;
  if (!succeeded(answer)) throw refused("start a container", answer);
  return true;
}

void Client::stop_container(const Call& call, const std::string& id, int seconds) {
  const Response answer =
      send(call, request("POST", "/containers/" + percent_encode(id) + "/stop?t=" + std::to_string(seconds)));
  const bool gone = answer.status == 304 || answer.status == 404;
  if (!gone && !succeeded(answer)) throw refused("stop a container", answer);
}

void Client::signal_container(const Call& call, const std::string& id, const std::string& signal) {
  const Response answer = send(
      call, request("POST", "/containers/" + percent_encode(id) + "/kill?signal=" + percent_encode(signal)));
  // 409: it does not run.
  const bool gone = answer.status == 404 || answer.status == 409;
  if (!gone && !succeeded(answer)) throw refused("signal a container", answer);
}

bool Client::wait_container(const Call& call, const std::string& id, std::chrono::milliseconds limit) {
  Response answer;
  try {
    answer = send(call, request("POST", "/containers/" + percent_encode(id) + "/wait"), {}, limit);
  } catch (const Error& error) {
    // The limit was ours as long as the call has time left.
    if (error.status() != Status::deadline || call.remaining() <= rmgr::Millis{0}) throw;
    return false;
  }
  if (answer.status == 404) return true;
  if (!succeeded(answer)) throw refused("wait for a container", answer);
  read_status_code(answer.body);
  return true;
}

void Client::remove_container(const Call& call, const std::string& id) {
  const Response answer =
      send(call, request("DELETE", "/containers/" + percent_encode(id) + "?force=true&v=true"));
  if (answer.status != 404 && !succeeded(answer)) throw refused("remove a container", answer);
}

void Client::put_archive(const Call& call, const std::string& id, const std::string& path,
                         const std::function<void(const Emit&)>& archive) {
  Request made =
      request("PUT", "/containers/" + percent_encode(id) + "/archive?path=" + percent_encode(path));
  made.content_type = "application/x-tar";
  made.stream = archive;
  const Response answer = send(call, std::move(made));
  if (!succeeded(answer)) throw refused("copy files into a container", answer);
}

namespace {

struct Enough {};  // nobody wants the rest of an answer

}  // namespace

bool Client::get_archive(const Call& call, const std::string& id, const std::string& path,
                         const std::function<bool(std::string_view)>& sink) {
  try {
    const Response answer = send(
        call, request("GET", "/containers/" + percent_encode(id) + "/archive?path=" + percent_encode(path)),
        [&sink](std::string_view piece) {
          if (!sink(piece)) throw Enough{};
        });
    if (answer.status == 404) return false;
    if (!succeeded(answer)) throw refused("show files of a container", answer);
  } catch (const Enough&) {  // NOLINT(bugprone-empty-catch) as it was asked for
  }
  return true;
}

Attached Client::attach(const Call& call, const std::string& id) {
  const std::string target = versioned(
      call, "/containers/" + percent_encode(id) + "/attach?stream=1&stdin=1&stdout=1&stderr=0&logs=0");
  const Waiter waiter(call);
  auto stream = open(waiter);
  std::string rest;
  const Response answer = upgrade(*stream, request("POST", target), waiter, rest);
  if (answer.status != 101 && answer.status != 200) throw refused("attach to a container", answer);
  return {std::move(stream), std::move(rest)};
}

std::string Client::create_network(const Call& call, const std::string& name, const Labels& labels) {
  const Response answer = send(call, posting("/networks/create", write_network(name, labels)));
  if (!succeeded(answer)) throw refused("create the network " + name, answer);
  return read_id(answer.body);
}

std::vector<Listed> Client::list_networks(const Call& call, const Labels& labels) {
  const Response answer =
      send(call, request("GET", "/networks?filters=" + percent_encode(write_label_filter(labels))));
  if (!succeeded(answer)) throw refused("list its networks", answer);
  return read_networks(answer.body);
}

void Client::remove_network(const Call& call, const std::string& id) {
  const Response answer = send(call, request("DELETE", "/networks/" + percent_encode(id)));
  if (answer.status != 404 && !succeeded(answer)) throw refused("remove a network", answer);
}

std::vector<std::string> Client::list_volumes(const Call& call) {
  const Response answer = send(call, request("GET", "/volumes"));
  if (!succeeded(answer)) throw refused("list its volumes", answer);
  return read_volumes(answer.body);
}

}  // namespace plugins::engine
