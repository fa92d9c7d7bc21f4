#include "process/gate.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <span>

namespace agent::process {
namespace {

using domain::Error;
using domain::ErrorCode;
using Clock = std::chrono::steady_clock;

int left_ms(Clock::time_point give_up) {
  const auto left = std::chrono::duration_cast<domain::Millis>(give_up - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
}

enum class Sent { all, closed, timeout };

Sent send_parts(int socket, std::span<iovec> parts, Clock::time_point give_up) {
  while (!parts.empty()) {
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ssize_t count = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) return Sent::closed;
      pollfd fd{socket, POLLOUT, 0};
      if (::poll(&fd, 1, left_ms(give_up)) == 0) return Sent::timeout;
      continue;
    }
    auto gone = static_cast<std::size_t>(count);
    while (!parts.empty() && gone >= parts.front().iov_len) {
      gone -= parts.front().iov_len;
      parts = parts.subspan(1);
    }
    if (!parts.empty()) {
      parts.front().iov_base = static_cast<char*>(parts.front().iov_base) + gone;
      parts.front().iov_len -= gone;
    }
  }
  return Sent::all;
}

iovec view(const void* bytes, std::size_t size) { return {const_cast<void*>(bytes), size}; }

bool receive(int socket, void* bytes, std::size_t size, Clock::time_point give_up, Gate::Answer& failure) {
  std::size_t have = 0;
  while (have < size) {
    pollfd fd{socket, POLLIN, 0};
    const int ready = ::poll(&fd, 1, left_ms(give_up));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      failure = Gate::Answer::timeout;
      return false;
    }
    const ssize_t count = ::recv(socket, static_cast<char*>(bytes) + have, size - have, MSG_DONTWAIT);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) {
      failure = Gate::Answer::closed;
      return false;
    }
    have += static_cast<std::size_t>(count);
  }
  return true;
}

wire::Frame frame(wire::Kind kind, std::size_t size) {
  return {wire::magic, wire::version, static_cast<std::uint16_t>(kind), static_cast<std::uint32_t>(size)};
}

}  // namespace

Result<void> Gate::launch(const Spec& spec, const std::string& records, const Group& group,
                          domain::Millis gate_timeout, domain::Millis timeout) {
  const wire::LaunchHeader header{spec.uid ? static_cast<std::int64_t>(*spec.uid) : -1,
                                  spec.gid ? static_cast<std::int64_t>(*spec.gid) : -1,
                                  static_cast<std::uint32_t>(gate_timeout.count()),
                                  static_cast<std::uint32_t>(spec.argv.size()),
                                  static_cast<std::uint32_t>(spec.environment.size()),
                                  static_cast<std::uint32_t>(spec.time_limit.count()),
                                  static_cast<std::uint32_t>(group.limited.size()),
                                  static_cast<std::uint32_t>(spec.resource_limits.size()),
                                  static_cast<std::uint32_t>(spec.hidden_directories.size()),
                                  static_cast<std::uint32_t>(spec.private_directories.size()),
                                  spec.nice,
                                  spec.no_new_privileges ? wire::no_new_privileges : 0};
  std::string payload(reinterpret_cast<const char*>(&header), sizeof header);
  for (const ResourceLimit& limit : spec.resource_limits) {
    const wire::ResourceLimit item{limit.value, resource_of(limit.name).value_or(-1), 0};
    payload.append(reinterpret_cast<const char*>(&item), sizeof item);
  }
  const auto add = [&payload](const std::string& text) { payload.append(text).push_back('\0'); };
  for (const std::string* text : {&records, &spec.key, &group.unified, &spec.directory})
    add(*text);
  for (const auto* texts : {&spec.argv, &spec.environment, &group.limited, &spec.hidden_directories}) {
    for (const std::string& text : *texts)
      add(text);
  }
  for (const PrivateDirectory& directory : spec.private_directories) {
    add(directory.target);
    add(directory.backing);
  }
  if (payload.size() > wire::max_launch) {
    return Error{ErrorCode::invalid,
                 "Arguments and environment of " + spec.key + " are larger than 1 MiB together."};
  }
  const wire::Frame head = frame(wire::Kind::launch, payload.size());
  iovec parts[] = {view(&head, sizeof head), view(payload.data(), payload.size())};
  const Sent sent = send_parts(socket_.get(), parts, Clock::now() + timeout);
  // The environment may name things that only the job's account should know.
  ::explicit_bzero(payload.data(), payload.size());
  if (sent == Sent::all) return {};
  return Error{ErrorCode::retry, "The supervisor of " + spec.key + " did not take its orders."};
}

Result<void> Gate::release(std::string_view name, std::string_view secret, domain::Millis timeout) {
  const wire::Frame head = frame(wire::Kind::release, name.size() + 1 + secret.size());
  iovec parts[] = {view(&head, sizeof head), view(name.data(), name.size()), view("", 1),
                   view(secret.data(), secret.size())};
  switch (send_parts(socket_.get(), parts, Clock::now() + timeout)) {
    case Sent::all: return {};
    case Sent::closed:
      return Error{ErrorCode::not_found, "The supervisor left its gate before it was released."};
    case Sent::timeout: break;
  }
  return Error{ErrorCode::deadline, "The supervisor did not take the release in time."};
}

Gate::Answer Gate::wait(domain::Millis timeout, wire::Failure& failure) {
  const auto give_up = Clock::now() + timeout;
  Answer answer = Answer::nonsense;
  wire::Frame head{};
  if (!receive(socket_.get(), &head, sizeof head, give_up, answer)) return answer;
  if (head.magic != wire::magic || head.version != wire::version) return Answer::nonsense;
  switch (static_cast<wire::Kind>(head.kind)) {
    case wire::Kind::ready: return head.size == 0 ? Answer::ready : Answer::nonsense;
    case wire::Kind::started: return head.size == 0 ? Answer::started : Answer::nonsense;
    case wire::Kind::failed:
      if (head.size != sizeof failure) return Answer::nonsense;
      return receive(socket_.get(), &failure, sizeof failure, give_up, answer) ? Answer::failed : answer;
    default: return Answer::nonsense;
  }
}

std::string describe(const wire::Failure& failure, const Spec& spec) {
  const std::string why = std::string(std::strerror(failure.error_number)) + ".";
  const std::size_t index = failure.index;
  switch (static_cast<wire::Stage>(failure.stage)) {
    case wire::Stage::message: return "The supervisor refused its orders: " + why;
    case wire::Stage::record: return "The process record could not be written: " + why;
    case wire::Stage::cgroup: return "The cgroup could not be entered: " + why;
    case wire::Stage::fork: return "No process could be made: " + why;
    case wire::Stage::session: return "No session could be made: " + why;
    case wire::Stage::groups: return "The supplementary groups could not be given up: " + why;
    case wire::Stage::gid:
    case wire::Stage::uid:
      return "The process could not become user " + std::to_string(spec.uid.value_or(0)) + " and group " +
             std::to_string(spec.gid.value_or(0)) + ": " + why;
    case wire::Stage::streams: return "/dev/null could not be opened: " + why;
    case wire::Stage::directory: return "The directory " + spec.directory + " could not be entered: " + why;
    case wire::Stage::mounts: return "No mount namespace could be made: " + why;
    case wire::Stage::hide:
      return "The directory " +
             (index < spec.hidden_directories.size() ? spec.hidden_directories[index] : "") +
             " could not be hidden: " + why;
    case wire::Stage::make_private:
      return "The directory " +
             (index < spec.private_directories.size() ? spec.private_directories[index].target : "") +
             " could not be made private: " + why;
    case wire::Stage::nice:
      return "The nice level " + std::to_string(spec.nice) + " could not be set: " + why;
    case wire::Stage::resource_limit:
      return "The limit " + (index < spec.resource_limits.size() ? spec.resource_limits[index].name : "") +
             " could not be set: " + why;
    case wire::Stage::privileges: return "New privileges could not be given up: " + why;
    case wire::Stage::execute: return spec.argv.front() + " could not be executed: " + why;
  }
  return "The supervisor reported a failure of a kind that this daemon does not know: " + why;
}

}  // namespace agent::process
