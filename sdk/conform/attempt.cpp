#include "conform/attempt.hpp"
#include "conform/files.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <random>

namespace rmgr::conform {
namespace {

namespace fs = std::filesystem;

// A shell script, so that it runs as any account and in any image that has a shell.
constexpr std::string_view stand_in = R"(#!/bin/sh
# Stands in for the runner in the conformance suite. Its one-time secret says what to do: NEEDLE.MODE.CODE
secret=$ACTIONS_RUNNER_INPUT_JITCONFIG
unset ACTIONS_RUNNER_INPUT_JITCONFIG
code=${secret##*.}
ready=${0%/bin/*}/conform-ready
case "$1 $secret" in
  "--version "*) exit 0 ;;
  "run conform-needle-"*.ends.*) exit "$code" ;;
  "run conform-needle-"*.waits.*)
    trap 'kill $!; exit "$code"' TERM INT
    : >"$ready"
    sleep 60 &
    wait ;;
  "run conform-needle-"*.deaf.*)
    trap '' TERM INT HUP
    : >"$ready"
    sleep 60 ;;
esac
exit 99
)";

std::string_view name_of(Mode mode) {
  switch (mode) {
    case Mode::ends: return "ends";
    case Mode::waits: return "waits";
    case Mode::deaf: return "deaf";
  }
  return "ends";
}

constexpr Millis patience{10'000};

}  // namespace

std::string random_hex(std::size_t digits) {
  static std::random_device device;
  std::string out;
  while (out.size() < digits)
    out += "0123456789abcdef"[device() % 16];
  return out;
}

Attempt make_attempt(const Context& context, Mode mode, int code) {
  Attempt made;
  made.host = "conform-" + random_hex(8);
  made.attempt = random_hex(8) + "-" + random_hex(4) + "-4" + random_hex(3) + "-8" + random_hex(3) + "-" +
                 random_hex(12);
  made.generation = random_hex(32);
  made.image = context.setting("image");
  made.runner_name = "rm-" + made.attempt;
  made.runtime = context.scratch + "/" + made.attempt;
  made.package = made.runtime;
  made.secret = std::string(needle_prefix) + random_hex(24) + "." + std::string(name_of(mode)) + "." +
                std::to_string(code);
  fs::create_directories(made.runtime + "/bin");
  // A provider of Windows looks for the program of a Windows package.
  std::string listener = made.runtime + "/bin/Runner.Listener";
  if (context.setting("os") == "windows") listener += ".exe";
  std::ofstream(listener) << stand_in;
  ::chmod(listener.c_str(), 0755);
  return made;
}

Json Attempt::to_json() const {
  Json json = Json::object();
  for (const auto& [key, value] : {std::pair{"host", &host},
                                   {"attempt", &attempt},
                                   {"generation", &generation},
                                   {"image", &image},
                                   {"runner_name", &runner_name},
                                   {"runtime", &runtime},
                                   {"package", &package},
                                   {"environment", &environment},
                                   {"boot_id", &boot_id}})
    json.set(key, Json::text(*value));
  json.set("pid", Json::integer(pid));
  json.set("start_token", Json::text(std::to_string(start_token)));
  return json;  // without the secret, which a crash loses
}

Attempt Attempt::from_json(const Json& json) {
  Attempt made;
  for (const auto& [key, value] : {std::pair{"host", &made.host},
                                   {"attempt", &made.attempt},
                                   {"generation", &made.generation},
                                   {"image", &made.image},
                                   {"runner_name", &made.runner_name},
                                   {"runtime", &made.runtime},
                                   {"package", &made.package},
                                   {"environment", &made.environment},
                                   {"boot_id", &made.boot_id}})
    *value = json.at(key).as_text();
  made.pid = json.at("pid").as_integer();
  made.start_token = std::stoull(json.at("start_token").as_text());
  return made;
}

void Attempt::save(const Context& context) const {
  std::ofstream(context.scratch + "/attempt.json") << to_json().dump();
}

Attempt Attempt::saved(const Context& context) {
  const auto json = Json::parse(read_file(context.scratch + "/attempt.json").value_or(""));
  if (!json) fail("The phase before left no record of its attempt.");
  return from_json(*json);
}

std::string state_name(std::int32_t state) {
  switch (state) {
    case RMGR_ENVIRONMENT_PREPARED: return "prepared";
    case RMGR_ENVIRONMENT_STARTING: return "starting";
    case RMGR_ENVIRONMENT_RUNNING: return "running";
    case RMGR_ENVIRONMENT_EXITED: return "exited";
    case RMGR_ENVIRONMENT_MISSING: return "missing";
    default: return "the unknown state " + std::to_string(state);
  }
}

const rmgr_profile* Provider::profile() {
  rmgr_profile profile{};
  profile.struct_size = sizeof profile;
  profile.policy = to_abi("conform");
  profile.image = to_abi(image_);
  return shaped(profile);
}

// Lives as long as the attempt that it views.
const rmgr_allocation* Provider::allocation(const Attempt& attempt) {
  rmgr_allocation abi{};
  abi.struct_size = sizeof abi;
  abi.host = to_abi(attempt.host);
  abi.attempt = to_abi(attempt.attempt);
  abi.generation = to_abi(attempt.generation);
  abi.image = to_abi(attempt.image);
  abi.policy = to_abi("conform");
  abi.runner_name = to_abi(attempt.runner_name);
  abi.runtime = to_abi(attempt.runtime);
  abi.package = to_abi(attempt.package);
  abi.environment = to_abi(attempt.environment);
  abi.process = {sizeof(rmgr_process_identity), 0, attempt.pid, attempt.start_token, to_abi(attempt.boot_id)};
  abi.profile = *profile();
  abi.stop_grace_ms = 5'000;
  return shaped(abi);
}

Answer Provider::probe(rmgr_probe& out, std::string& remedy, const Within& within) {
  Operation operation("probe", within);
  const auto* sink =
      operation.sink<rmgr_probe_sink, rmgr_probe>([&](CallState& state, const rmgr_probe& item) {
        std::string note;
        out = item;
        state.text(item.remedy, remedy);
        state.text(item.note, note);
      });
  return operation.run([&] {
    return table<rmgr_execution_provider>().probe(handle(), operation.call(), profile(), sink,
                                                  operation.error());
  });
}

Answer Provider::resolve(std::string& image, const Within& within) {
  Operation operation("resolve", within);
  const auto* sink = operation.text_sink([&](std::string text) { image = std::move(text); });
  return operation.run([&] {
    return table<rmgr_execution_provider>().resolve(handle(), operation.call(), profile(), sink,
                                                    operation.error());
  });
}

Answer Provider::prepare(Attempt& attempt, const Within& within) {
  Operation operation("prepare", within);
  // An attempt gets the image that its name was resolved to.
  if (isolated() && !image_.empty()) attempt.image = image_;
  const rmgr_allocation* abi = allocation(attempt);
  std::string environment;
  const auto* sink = operation.text_sink([&](std::string text) { environment = std::move(text); });
  Answer answer = operation.run([&] {
    return table<rmgr_execution_provider>().prepare(handle(), operation.call(), abi, sink, operation.error());
  });
  if (answer.ok()) attempt.environment = environment;
  return answer;
}

Answer Provider::hold(Attempt& attempt, const Within& within) {
  Operation operation("hold", within);
  const rmgr_allocation* abi = allocation(attempt);
  Attempt held = attempt;
  const auto* sink = operation.sink<rmgr_identity_sink, rmgr_process_identity>(
      [&](CallState& state, const rmgr_process_identity& item) {
        held.pid = item.pid;
        held.start_token = item.start_token;
        state.text(item.boot_id, held.boot_id);
      });
  Answer answer = operation.run([&] {
    return table<rmgr_execution_provider>().hold(handle(), operation.call(), abi, sink, operation.error());
  });
  if (answer.ok()) attempt = std::move(held);
  return answer;
}

Answer Provider::start(const Attempt& attempt, rmgr_start_result& result, const Within& within) {
  Operation operation("start", within);
  auto* filled = shaped(rmgr_start_result{sizeof(rmgr_start_result), -1, -1});
  const std::string secret = attempt.secret;  // the plugin may read no byte of it after the call
  Answer answer = operation.run([&] {
    return table<rmgr_execution_provider>().start(handle(), operation.call(), allocation(attempt),
                                                  {secret.data(), secret.size()}, filled, operation.error());
  });
  expect(padding_intact(filled), "start wrote behind the end of its result.");
  result = *filled;
  return answer;
}

Answer Provider::inspect(const Attempt& attempt, rmgr_environment_state& state, const Within& within) {
  Operation operation("inspect", within);
  auto* filled = shaped(rmgr_environment_state{});
  Answer answer = operation.run([&] {
    return table<rmgr_execution_provider>().inspect(handle(), operation.call(), allocation(attempt), filled,
                                                    operation.error());
  });
  expect(padding_intact(filled), "inspect wrote behind the end of its result.");
  state = *filled;
  return answer;
}

const rmgr_owned_sink* Provider::owned_sink(Operation& operation, std::vector<Owned>& found) {
  return operation.sink<rmgr_owned_sink, rmgr_owned>([&found](CallState& state, const rmgr_owned& item) {
    Owned one;
    state.text(item.host, one.host);
    state.text(item.attempt, one.attempt);
    state.text(item.generation, one.generation);
    state.text(item.image, one.image);
    state.text(item.environment, one.environment);
    found.push_back(std::move(one));
  });
}

Answer Provider::recover(const Attempt& attempt, std::vector<Owned>& found, const Within& within) {
  Operation operation("recover", within);
  const auto* sink = owned_sink(operation, found);
  if (table<rmgr_execution_provider>().recover == nullptr) return {"recover", RMGR_OK, "", false};
  return operation.run([&] {
    return table<rmgr_execution_provider>().recover(handle(), operation.call(), allocation(attempt), sink,
                                                    operation.error());
  });
}

Answer Provider::stop(const Attempt& attempt, Millis grace, const Within& within,
                      std::optional<Millis> cancel_after) {
  Operation operation("stop", within);
  std::optional<Later> canceller;
  if (cancel_after) canceller.emplace(*cancel_after, [&] { operation.state().cancel(); });
  return operation.run([&] {
    return table<rmgr_execution_provider>().stop(handle(), operation.call(), allocation(attempt),
                                                 grace.count(), operation.error());
  });
}

Answer Provider::remove(const Attempt& attempt, const Within& within) {
  Operation operation("remove", within);
  return operation.run([&] {
    return table<rmgr_execution_provider>().remove(handle(), operation.call(), allocation(attempt),
                                                   operation.error());
  });
}

Answer Provider::enumerate(const std::string& host, std::vector<Owned>& found, const Within& within) {
  Operation operation("enumerate_owned", within);
  const auto* sink = owned_sink(operation, found);
  if (table<rmgr_execution_provider>().enumerate_owned == nullptr)
    return {"enumerate_owned", RMGR_OK, "", false};
  return operation.run([&] {
    return table<rmgr_execution_provider>().enumerate_owned(handle(), operation.call(), to_abi(host), sink,
                                                            operation.error());
  });
}

bool Provider::owns(const Attempt& attempt, const std::string& environment) {
  Operation operation("owns");
  bool answer = false;
  operation.run([&]() -> rmgr_status {
    const auto function = table<rmgr_execution_provider>().owns;
    answer = function != nullptr &&
             function(handle(), operation.call(), allocation(attempt), to_abi(environment)) == 1;
    return RMGR_OK;
  });
  return answer;
}

Answer Provider::diagnostics(const Attempt& attempt, std::vector<std::string>& lines) {
  Operation operation("diagnostics");
  const auto* sink = operation.text_sink([&](std::string line) { lines.push_back(std::move(line)); });
  if (table<rmgr_execution_provider>().diagnostics == nullptr) return {"diagnostics", RMGR_OK, "", false};
  return operation.run([&] {
    return table<rmgr_execution_provider>().diagnostics(handle(), operation.call(), allocation(attempt), sink,
                                                        operation.error());
  });
}

void Provider::need_ready(const Context& context) {
  image_ = context.setting("image");
  if (isolated() && image_.empty())
    skip("It runs images; name one in the configuration as \"conform\": {\"image\": …}.");
  if (isolated()) {
    const Answer resolved = resolve(image_);
    expect(resolved.ok(), resolved.text() + ".");
  }
  need_machine();
}

void Provider::need_machine() {
  rmgr_probe answer{};
  std::string remedy;
  const Answer probed = probe(answer, remedy);
  expect(probed.ok(), probed.text() + ".");
  if (answer.readiness != RMGR_PROBE_READY)
    skip("The provider is not ready on this machine: " + printable(remedy, 300));
}

void Provider::prepared(Attempt& attempt) {
  const Answer made = prepare(attempt);
  expect(made.ok(), made.text() + ".");
  if (!holds()) return;
  const Answer held = hold(attempt);
  expect(held.ok(), held.text() + ".");
  expect(attempt.pid > 0, "hold answered ok without a process identity.");
}

void Provider::started(Attempt& attempt) {
  prepared(attempt);
  rmgr_start_result result{};
  const Answer answer = start(attempt, result);
  expect(answer.ok(), answer.text() + ".");
}

rmgr_environment_state Provider::state(const Attempt& attempt) {
  rmgr_environment_state state{};
  const Answer answer = inspect(attempt, state);
  expect(answer.ok(), answer.text() + ".");
  expect(state.state >= RMGR_ENVIRONMENT_PREPARED && state.state <= RMGR_ENVIRONMENT_MISSING,
         "inspect answered " + state_name(state.state) + ".");
  return state;
}

rmgr_environment_state Provider::await(const Attempt& attempt, std::int32_t one, std::int32_t other) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (true) {
    // Right after an end the state may not be provable for a moment.
    rmgr_environment_state seen{};
    const Answer answer = inspect(attempt, seen);
    expect(answer.ok() || answer.status == RMGR_E_RETRY, answer.text() + ".");
    if (answer.ok() && (seen.state == one || seen.state == other)) return seen;
    if (std::chrono::steady_clock::now() >= until) return answer.ok() ? seen : state(attempt);
    std::this_thread::sleep_for(Millis(10));
  }
}

rmgr_environment_state Provider::await_running(const Attempt& attempt) {
  const rmgr_environment_state seen = await(attempt, RMGR_ENVIRONMENT_RUNNING, RMGR_ENVIRONMENT_EXITED);
  // Where the runner shares our files it also says when it is ready to be asked to end.
  for (int i = 0; i < 100 && !fs::exists(attempt.runtime + "/conform-ready"); ++i)
    std::this_thread::sleep_for(Millis(10));
  return seen;
}

void Provider::stopped(const Attempt& attempt) {
  const Answer answer = stop(attempt, Millis(5'000));
  expect(answer.ok(), answer.text() + ".");
}

void Provider::removed(const Attempt& attempt) {
  const Answer answer = remove(attempt);
  expect(answer.ok(), answer.text() + ".");
  // The directory belongs to the host, which clears it once remove has succeeded.
  std::error_code ignored;
  fs::remove_all(attempt.runtime, ignored);
}

}  // namespace rmgr::conform
