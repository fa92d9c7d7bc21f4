#include <array>
#include <limits>

#include "config/readers.hpp"
#include "domain/labels.hpp"

namespace agent::config {
namespace {

using domain::Millis;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::int64_t kMostRunners = 10'000;
constexpr std::size_t kLongestSocket = 107;  // what fits a socket's address
constexpr Millis kQuietFloor = seconds(5);
constexpr Millis kActiveFloor = seconds(30);
constexpr Millis kTestFloor{10};
constexpr std::array<std::string_view, 4> kLevels{"debug", "info", "warning", "error"};

void read_control(Section& root, Configuration& out, Problems& problems) {
  Section control(root.map("control"), "control", problems);
  if (!out.state_directory.empty()) out.control_socket = out.state_directory + "/control.sock";
  control.path("socket", out.control_socket);
  if (out.control_socket.size() > kLongestSocket) {
    const Mark mark = control.has("socket") ? control.mark_of("socket") : root.mark_of("state");
    problems.add(mark, "the control socket's path has " + std::to_string(out.control_socket.size()) +
                           " bytes; at most 107 fit, so give control.socket a shorter one");
  }
  control.finish();
}

void read_host(Section& root, Configuration& out, Problems& problems) {
  Section host(root.map("host"), "host", problems);
  host.integer("capacity", out.host_capacity, 1, kMostRunners);
  host.integer("target_cap", out.target_cap, 0, kMostRunners);
  host.duration("drain_timeout", out.drain_timeout, seconds(1), hours(1));
  host.finish();
}

void read_polling(Section& root, Configuration& out, Problems& problems) {
  Section polling(root.map("polling"), "polling", problems);
  polling.boolean("allow_below_floor", out.polling.allow_below_floor);
  const bool below = out.polling.allow_below_floor;
  polling.duration("quiet", out.polling.quiet, below ? kTestFloor : kQuietFloor, minutes(15));
  polling.duration("active", out.polling.active, below ? kTestFloor : kActiveFloor, minutes(15));
  polling.finish();
}

void read_history(Section& root, Configuration& out, Problems& problems) {
  Section history(root.map("history"), "history", problems);
  history.integer("keep", out.keep_attempts, 0, 10'000'000);
  history.duration("keep_for", out.keep_for, Millis{0}, hours(24 * 3650));
  history.finish();
}

void read_pins(Section& packages, Configuration& out) {
  const Node* pins = packages.map("pins");
  if (pins == nullptr) return;
  for (const Entry& entry : pins->entries) {
    const bool version =
        !entry.key.empty() && entry.key.size() <= 64 &&
        entry.key.find_first_not_of("0123456789.abcdefghijklmnopqrstuvwxyz-") == std::string::npos;
    const TextOrProblem found = text_of(entry.value);
    const auto digest = found.text ? parse_sha256(*found.text) : std::nullopt;
    if (!version) {
      packages.fail("pins", entry.mark, "each key of pins must be a runner version such as \"2.330.0\"");
    } else if (!digest) {
      packages.fail(
          "pins", entry.value.mark,
          "the pin of " + shown(entry.key) + " must be the SHA-256 of its archive: 64 hexadecimal digits");
    } else {
      out.package_pins.emplace_back(entry.key, *digest);
    }
  }
}

void read_packages(Section& root, Configuration& out, Problems& problems) {
  Section packages(root.map("packages"), "packages", problems);
  packages.duration("check_interval", out.package_check_interval, seconds(1), hours(24 * 30));
  read_pins(packages, out);
  packages.finish();
}

void read_log(Section& root, Configuration& out, Problems& problems) {
  Section log(root.map("log"), "log", problems);
  if (const auto level = log.word("level", kLevels, out.log_level)) out.log_level = *level;
  log.path("file", out.log_file);
  log.finish();
}

void read_plugins(Section& root, Configuration& out, Problems& problems) {
  Section plugins(root.map("plugins"), "plugins", problems);
  if (const Node* list = plugins.list("directories")) {
    for (const Node& item : list->items) {
      TextOrProblem found = path_of(item);
      if (found.text) {
        out.plugin_directories.push_back(std::move(*found.text));
      } else {
        plugins.fail("directories", item.mark, "each of directories " + found.problem);
      }
    }
  }
  plugins.finish();
}

}  // namespace

std::optional<std::string> parse_sha256(std::string_view text) {
  std::string digest = domain::fold(text);
  if (digest.size() != 64 || digest.find_first_not_of("0123456789abcdef") != std::string::npos)
    return std::nullopt;
  return digest;
}

void read_daemon(Section& root, Configuration& out, Problems& problems) {
  root.required_path("state", out.state_directory);
  read_control(root, out, problems);
  read_host(root, out, problems);
  read_polling(root, out, problems);
  read_history(root, out, problems);
  read_packages(root, out, problems);
  read_log(root, out, problems);
  read_plugins(root, out, problems);
}

}  // namespace agent::config
