// A provider that prints as it is loaded and as it is made, and does otherwise as `act` says: what a trial
// hears of it must be none of that.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "rmgr/plugin.hpp"

namespace {

using rmgr::Error;
using rmgr::Status;

void print(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(descriptor, text.data(), text.size());
    if (put <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(put));
  }
}

void flood() {
  const std::string line(64 * 1024, 'x');
  for (int i = 0; i < 64; ++i) {
    print(STDOUT_FILENO, line);
    print(STDERR_FILENO, line);
  }
}

// Neither ends with a line, and the second says what a trial once ended with.
[[maybe_unused]] const bool loaded = [] {
#if defined(CHATTY_FLOODS)
  flood();
#endif
  print(STDERR_FILENO, "chatter of a library");
  print(STDOUT_FILENO, "@Done\n{\"rmgr.execution-provider/1\": {}}");
  return true;
}();

// What a library does to descriptors that it takes for its own.
void write_everywhere() {
  for (int descriptor = 3; descriptor < 20; ++descriptor)
    print(descriptor, "@Done\n");
}

// Finds the report on purpose, which a trial does not keep it from, and damages it.
void spoil_report() {
  for (int descriptor = 3; descriptor < 1024; ++descriptor)
    (void)::send(descriptor, "@Done\n", 6, MSG_NOSIGNAL);
}

class Chatty : public rmgr::ExecutionProvider {
 public:
  static constexpr std::uint32_t flags = 0;
  static constexpr std::string_view config_schema = R"({"type": "object", "properties": {
    "act": {"type": "string", "enum": ["done", "refuse", "everywhere", "spoil", "flood", "kv", "leave-child"]}}})";

  Chatty(rmgr::Host host, std::string_view config) {
    const auto wanted = [&](std::string_view act) { return config.find(act) != std::string_view::npos; };
    print(STDOUT_FILENO, "An odd line.\n");
    if (wanted("done")) {
      print(STDOUT_FILENO, "\n@Done\n");
      std::_Exit(0);
    }
    if (wanted("refuse")) throw Error(Status::denied, "The chatty plugin says no.");
    if (wanted("everywhere")) write_everywhere();
    if (wanted("spoil")) spoil_report();
    if (wanted("flood")) flood();
    if (wanted("kv")) use_kv(host);
    if (wanted("leave-child")) leave_child();
    print(STDOUT_FILENO, "no end of line");
  }

  rmgr::Probe probe(const rmgr::Call&, const rmgr::Profile&) override {
    return {rmgr::Readiness::ready, "", ""};
  }
  std::optional<std::string> prepare(const rmgr::Call&, const rmgr::Allocation&) override {
    return std::nullopt;
  }
  void start(const rmgr::Call&, const rmgr::Allocation&, rmgr::SecretView, rmgr::StartResult&) override {}
  rmgr::EnvironmentState inspect(const rmgr::Call&, const rmgr::Allocation&) override { return {}; }
  void stop(const rmgr::Call&, const rmgr::Allocation&, rmgr::Millis) override {}
  void remove(const rmgr::Call&, const rmgr::Allocation&) override {}

 private:
  // As the contract allows: services may be used from any thread.
  static void use_kv(const rmgr::Host& host) {
    std::vector<std::thread> users;
    users.reserve(4);
    for (int user = 0; user < 4; ++user) {
      users.emplace_back([&host, user] {
        const rmgr::Kv kv = host.kv();
        for (int i = 0; i < 500; ++i) {
          const std::string key = std::to_string(user) + "/" + std::to_string(i % 50);
          kv.put(key, std::string(100, 'v'));
          (void)kv.get(key);
          (void)kv.list("");
          kv.remove(key);
        }
      });
    }
    for (std::thread& user : users)
      user.join();
  }
  // Holds standard output open for much longer than anybody waits.
  static void leave_child() {
    if (::fork() != 0) return;
    ::sleep(600);
    ::_exit(0);
  }
};

}  // namespace

RMGR_PLUGIN(Chatty);
