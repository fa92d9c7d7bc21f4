// A provider whose probe does what the name of the policy says, for tests of the boundary and of the host's
// services. Where something must be waited for, or where a path or a reference is needed, `image` carries it.
#include <unistd.h>

#include <map>
#include <stdexcept>
#include <thread>

#include "rmgr/plugin.hpp"

namespace {

using rmgr::Allocation;
using rmgr::Call;
using rmgr::Error;
using rmgr::Probe;
using rmgr::Profile;
using rmgr::Readiness;
using rmgr::Status;

class Moody : public rmgr::ExecutionProvider {
 public:
  static constexpr std::uint32_t flags = 0;
  static constexpr std::string_view config_schema = R"({"type": "object", "properties": {
    "fail": {"type": "string", "enum": ["error", "std", "int"]},
    "name": {"type": "string", "minLength": 2},
    "token": {"type": "string", "x-secret": true}}})";

  Moody(rmgr::Host host, std::string_view config) : host_(host) {
    if (config.find("\"error\"") != std::string_view::npos)
      throw Error(Status::denied, "The moody plugin says no.");
    if (config.find("\"std\"") != std::string_view::npos) throw std::runtime_error("odd");
    if (config.find("\"int\"") != std::string_view::npos) throw 7;
  }

  Probe probe(const Call& call, const Profile& profile) override {
    const std::map<std::string_view, std::string (Moody::*)(const Call&, std::string_view)> acts{
        {"throw-error", &Moody::throw_error},
        {"throw-memory", &Moody::throw_memory},
        {"throw-std", &Moody::throw_std},
        {"throw-int", &Moody::throw_int},
        {"throw-ok", &Moody::throw_ok},
        {"block", &Moody::block},
        {"log", &Moody::log},
        {"clock", &Moody::clock},
        {"sleep", &Moody::sleep},
        {"secret", &Moody::secret},
        {"kv", &Moody::kv},
        {"directory", &Moody::directory},
        {"thread", &Moody::thread},
        {"process", &Moody::process},
        {"name", &Moody::name},
    };
    const auto act = acts.find(profile.policy);
    if (act == acts.end()) throw Error(Status::invalid, "The moody plugin knows no such act.");
    return {Readiness::ready, "", (this->*act->second)(call, profile.image)};
  }

  std::optional<std::string> prepare(const Call&, const Allocation&) override { return std::nullopt; }
  void start(const Call&, const Allocation&, rmgr::SecretView, rmgr::StartResult&) override {
    throw Error(Status::unreachable, "It cannot be started.");
  }
  rmgr::EnvironmentState inspect(const Call&, const Allocation&) override { return {}; }
  void stop(const Call&, const Allocation&, rmgr::Millis) override {
    throw Error(Status::busy, "It still runs.");
  }
  void remove(const Call&, const Allocation&) override {
    throw Error(Status::retry, "Not now.", std::chrono::seconds(7));
  }

 private:
  std::string throw_error(const Call&, std::string_view) {
    throw Error(Status::unauthorized, "The token was\trejected.", std::chrono::seconds(3));
  }
  std::string throw_memory(const Call&, std::string_view) { throw std::bad_alloc(); }
  std::string throw_std(const Call&, std::string_view) { throw std::runtime_error("a standard exception"); }
  std::string throw_int(const Call&, std::string_view) { throw 7; }
  std::string throw_ok(const Call&, std::string_view) {
    throw Error(Status::ok, "A failure that calls itself ok.");
  }

  // Ignores cancel and deadline until the file exists.
  std::string block(const Call&, std::string_view path) {
    const std::string file(path);
    while (::access(file.c_str(), F_OK) != 0)
      std::this_thread::sleep_for(rmgr::Millis{2});
    return "came back";
  }
  std::string log(const Call&, std::string_view) {
    host_.log().debug("a debug line");
    host_.log().warning("two\nlines");
    return "logged";
  }
  std::string clock(const Call&, std::string_view) {
    const bool sane =
        host_.clock().wall() > std::chrono::hours(24 * 365 * 50) && host_.clock().boot() > rmgr::Millis{0};
    return sane ? "sane" : "odd";
  }
  std::string sleep(const Call& call, std::string_view) {
    host_.clock().sleep(call, rmgr::Millis{1});
    host_.clock().sleep(call, std::chrono::hours(1));
    return "slept";
  }
  std::string secret(const Call&, std::string_view reference) {
    std::size_t size = 0;
    host_.secrets().with_secret(reference, [&](rmgr::SecretView value) {
      size = value.size();
      if (value.reveal() == "refuse") throw Error(Status::denied, "The plugin dislikes the value.");
    });
    return std::to_string(size);
  }
  std::string kv(const Call&, std::string_view) {
    const rmgr::Kv kv = host_.kv();
    std::string seen = kv.get("missing") ? "found;" : "none;";
    kv.put("a/1", "one");
    kv.put("a/2", "two");
    kv.put("b", "three");
    kv.remove("a/2");
    kv.remove("a/2");
    seen += *kv.get("a/1") + ";";
    for (const std::string& key : kv.list("a/"))
      seen += key + ";";
    try {
      kv.put("", "empty key");
    } catch (const Error& error) {
      seen += error.status() == Status::invalid ? "refused" : "odd";
    }
    return seen;
  }
  std::string directory(const Call&, std::string_view) { return host_.work_directory().path(); }
  std::string thread(const Call&, std::string_view) {
    bool elsewhere = true;
    std::thread([&] { elsewhere = host_.thread_check().in_call(); }).join();
    return std::string(host_.thread_check().in_call() ? "in" : "out") + (elsewhere ? "in" : "out");
  }
  std::string process(const Call& call, std::string_view) {
    const rmgr::Process process = host_.process();
    rmgr::ProcessSpec spec;
    spec.key = "key";
    spec.argv = {"/bin/true", "x"};
    spec.environment = {"A=B"};
    spec.directory = "/";
    spec.uid = 12;
    spec.cpu_milli = 1500;
    spec.memory_bytes = 4096;
    spec.pids = 7;
    spec.nice = 5;
    spec.no_new_privileges = true;
    spec.resource_limits = {{"core", 0}};
    spec.hidden_directories = {"/hidden"};
    spec.private_directories = {{"/tmp", "/backing"}, {"/dev/shm", ""}};
    const rmgr::ProcessIdentity identity = process.spawn_held(call, spec);
    process.release(call, "key", identity, "SECRET", rmgr::SecretView(std::string_view("s3")));
    const rmgr::ProcessState state = process.inspect(call, "key", identity);
    std::string seen = std::to_string(identity.pid) + identity.boot_id + std::to_string(state.exit_code);
    try {
      process.stop(call, "key", identity, rmgr::Millis{5});
    } catch (const Error& error) {
      seen += error.status() == Status::busy ? " busy: " + std::string(error.what()) : " odd";
    }
    process.forget("key");
    return seen + " " + std::to_string(rmgr::to_abi(process.abilities()));
  }
  std::string name(const Call& call, std::string_view) {
    return std::string(host_.name()) + " " + std::string(call.correlation());
  }

  rmgr::Host host_;
};

}  // namespace

RMGR_PLUGIN(Moody);
