#include "daemon/daemon.hpp"

#include <sys/prctl.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/asio.hpp>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <thread>

#include "crash_point.hpp"
#include "daemon/assembly.hpp"
#include "daemon/control_server.hpp"
#include "daemon/entropy.hpp"
#include "daemon/reload.hpp"
#include "daemon/service_manager.hpp"
#include "daemon/status.hpp"
#include "daemon/version.hpp"
#include "observe/sink.hpp"
#include "plugin/crash_note.hpp"

namespace agent::daemon {

namespace asio = boost::asio;
using domain::Instant;
using domain::Millis;
using observe::Field;
using observe::Level;

namespace {

constexpr std::int64_t kMostAttemptsAnswered = 100'000;
// A plugin that let the daemon live for this long is not one that crashes it at each start.
constexpr std::chrono::minutes kProvenUptime{10};

// The loop: turns of the engine when something was queued or is due, signals, and the control socket.
class Daemon {
 public:
  Daemon(config::Configuration configuration, ServiceManager service_manager, observe::Log& log,
         std::function<void()> reopen_log)
      : configuration_(std::move(configuration)),
        service_manager_(std::move(service_manager)),
        log_(log),
        reopen_log_(std::move(reopen_log)),
        assembly_(log),
        wakeup_(loop_),
        drain_limit_(loop_),
        forgive_plugins_(loop_),
        sign_of_life_(loop_),
        signals_(loop_, SIGHUP),
        started_at_(instant_now({})) {}

  int run(const RunOptions& options);

 private:
  int serve(const RunOptions& options);
  void post(std::function<void()> work);
  void schedule_turn();
  void turn();
  void arm_wakeup();
  void wait_for_signal();
  void give_signs_of_life();
  void drain();
  void stop();
  void answer(const std::string& command, const std::string& request, const ControlReply& reply);
  [[nodiscard]] std::string status() const;
  std::string attempts(const std::string& request);
  std::string explain(const std::string& what) const;
  std::string forget(const std::string& id);
  std::string release_plugin(const std::string& digest);
  void reload(const ControlReply& reply);
  domain::Result<void> apply(domain::Result<config::Configuration> read);

  config::Configuration configuration_;
  ServiceManager service_manager_;
  observe::Log& log_;
  std::function<void()> reopen_log_;
  asio::io_context loop_{1};
  std::thread::id loop_thread_ = std::this_thread::get_id();
  Assembly assembly_;
  std::unique_ptr<ControlServer> control_;
  asio::steady_timer wakeup_;
  asio::steady_timer drain_limit_;
  asio::steady_timer forgive_plugins_;
  asio::steady_timer sign_of_life_;
  asio::signal_set signals_;
  Instant started_at_;
  std::string config_file_;
  std::jthread reading_;        // the file of a reload
  bool reloading_ = false;      // until what it read was taken
  std::string reload_refusal_;  // why the last reload changed nothing; empty: it did
  bool turn_posted_ = false;
  bool stopping_ = false;
};

void Daemon::post(std::function<void()> work) {
  asio::post(loop_, [this, work = std::move(work)] {
    work();
    schedule_turn();
  });
}

// Many answers that arrive together share one turn, and so one commit.
void Daemon::schedule_turn() {
  if (turn_posted_ || stopping_) return;
  turn_posted_ = true;
  asio::post(loop_, [this] {
    turn_posted_ = false;
    turn();
  });
}

void Daemon::turn() {
  if (stopping_) return;
  assembly_.engine().turn();
  if (assembly_.engine().draining() && assembly_.engine().quiescent()) {
    stop();
    return;
  }
  arm_wakeup();
}

void Daemon::arm_wakeup() {
  const auto due = assembly_.engine().next_wakeup();
  if (!due) return;
  // A moment that is past already is served by the next turn, a millisecond later so that I/O gets its share.
  const Millis wait = std::max(domain::elapsed(instant_now(due->boot_id), *due), Millis{1});
  wakeup_.expires_after(wait);
  wakeup_.async_wait([this](const boost::system::error_code& error) {
    if (!error) schedule_turn();
  });
}

void Daemon::wait_for_signal() {
  signals_.async_wait([this](const boost::system::error_code& error, int signal) {
    if (error) return;
    if (signal == SIGHUP) {
      reopen_log_();
      reload([](const std::string&) {});
    } else if (assembly_.engine().draining()) {
      stop();  // asked twice: what is in flight is left to the next start
      return;
    } else {
      drain();
    }
    wait_for_signal();
  });
}

// From the loop, so that one that hangs is noticed.
void Daemon::give_signs_of_life() {
  if (service_manager_.alive_every().count() == 0) return;
  service_manager_.alive();
  sign_of_life_.expires_after(service_manager_.alive_every());
  sign_of_life_.async_wait([this](const boost::system::error_code& error) {
    if (!error) give_signs_of_life();
  });
}

void Daemon::drain() {
  log_.write(Level::info, observe::Event::daemon_stopping, {});
  RMGR_CRASH_POINT("drain.asked");
  service_manager_.stopping();
  assembly_.engine().drain();
  drain_limit_.expires_after(configuration_.drain_timeout);
  drain_limit_.async_wait([this](const boost::system::error_code& error) {
    if (!error) stop();
  });
  schedule_turn();
}

void Daemon::stop() {
  stopping_ = true;
  control_.reset();
  boost::system::error_code ignored;
  signals_.cancel(ignored);
  loop_.stop();
}

std::string Daemon::status() const {
  StatusInput input{.installation = assembly_.journal().installation().str(),
                    .version = std::string(kVersion),
                    .started_at_ms = started_at_.wall_ms,
                    .host_capacity = configuration_.host_capacity,
                    .instances = assembly_.plugins().status(),
                    .notices = assembly_.notices()};
  if (!reload_refusal_.empty())
    input.notices.push_back("the last reload changed nothing: " + reload_refusal_);
  return control_result(status_json(input, assembly_.engine()));
}

std::string Daemon::attempts(const std::string& request) {
  const std::int64_t limit =
      std::clamp<std::int64_t>(control_number(request, "limit", 1000), 1, kMostAttemptsAnswered);
  auto rows = assembly_.journal().recent(limit);
  if (!rows) return control_error(rows.error());
  return control_result(attempts_json(*rows));
}

// A policy of that name, or else a job of that number.
std::string Daemon::explain(const std::string& what) const {
  auto found = assembly_.engine().explain(domain::PolicyName(what));
  std::int64_t job = 0;
  const auto [end, error] = std::from_chars(what.data(), what.data() + what.size(), job);
  if (!found && error == std::errc() && end == what.data() + what.size())
    found = assembly_.engine().explain(domain::JobId(job));
  if (found) return control_result(explanation_json(*found));
  return control_error({.code = domain::ErrorCode::not_found,
                        .message =
                            "there is no policy of that name, and no job of that number was listed at "
                            "the last look at any target; `status` shows the policies and the targets' "
                            "errors",
                        .retry_after = Millis{0}});
}

std::string Daemon::forget(const std::string& id) {
  if (auto forgotten = assembly_.engine().forget(domain::AttemptId(id)); !forgotten)
    return control_error(forgotten.error());
  log_.write(Level::warning, observe::Event::attempt_forgotten, {{Field::attempt, id}});
  schedule_turn();
  return control_result("{\"forgotten\":true}");
}

std::string Daemon::release_plugin(const std::string& digest) {
  if (digest.size() != plugin::digest_size) {
    return control_error({.code = domain::ErrorCode::invalid,
                          .message = "release_plugin names a file by the SHA-256 of it, as `digest`",
                          .retry_after = Millis{0}});
  }
  if (auto released = assembly_.quarantine().release(digest); !released)
    return control_error(released.error());
  return control_result("{\"released\":true}");
}

// The file is read beside the loop; what it says is taken as a whole or not at all.
void Daemon::reload(const ControlReply& reply) {
  if (reloading_) {
    return reply(control_error({.code = domain::ErrorCode::busy,
                                .message = "a reload is under way; try again",
                                .retry_after = Millis{0}}));
  }
  reloading_ = true;
  reading_ = std::jthread([this, reply, now = configuration_] {
    auto read = std::make_shared<domain::Result<config::Configuration>>(read_for_reload(config_file_, now));
    post([this, reply, read] {
      reloading_ = false;
      const auto applied = apply(std::move(*read));
      reply(applied ? control_result("{\"policies\":" + std::to_string(configuration_.policies.size()) + "}")
                    : control_error(applied.error()));
    });
  });
}

domain::Result<void> Daemon::apply(domain::Result<config::Configuration> read) {
  const auto refused = [this](const domain::Error& error) {
    reload_refusal_ = error.message;
    log_.write(Level::error, observe::Event::configuration_refused, {{Field::message, error.message}});
    return error;
  };
  if (!read) return refused(read.error());
  RMGR_CRASH_POINT("reload.read");
  auto policies = assembly_.resolve(read->policies);
  if (!policies) return refused(policies.error());
  const auto count = static_cast<std::int64_t>(policies->size());
  if (auto taken = assembly_.engine().reload(engine_options(*read), std::move(*policies)); !taken)
    return refused(taken.error());
  RMGR_CRASH_POINT("reload.taken");
  configuration_ = std::move(*read);
  reload_refusal_.clear();
  log_.write(Level::info, observe::Event::configuration_reloaded, {{Field::count, count}});
  return {};
}

void Daemon::answer(const std::string& command, const std::string& request, const ControlReply& reply) {
  if (command == "status") return reply(status());
  if (command == "attempts") return reply(attempts(request));
  if (command == "explain") return reply(explain(control_text(request, "what")));
  if (command == "forget_attempt") return reply(forget(control_text(request, "attempt")));
  if (command == "release_plugin") return reply(release_plugin(control_text(request, "digest")));
  if (command == "reload") return reload(reply);
  if (command == "drain") {
    if (!assembly_.engine().draining()) drain();
    return reply(control_result("{\"draining\":true}"));
  }
  reply(control_error({.code = domain::ErrorCode::invalid,
                       .message = "unknown command; this agent knows status, attempts, explain, "
                                  "forget_attempt, reload, drain and release_plugin",
                       .retry_after = Millis{0}}));
}

int Daemon::serve(const RunOptions& options) {
  config_file_ = options.config_file;
  const AssemblyInput input{.configuration = &configuration_,
                            .program_directory = options.program_directory,
                            .post = [this](std::function<void()> work) { post(std::move(work)); },
                            .on_loop_thread = [this] { return std::this_thread::get_id() == loop_thread_; }};
  if (auto refusal = assembly_.start(input)) {
    log_.write(Level::error, observe::Event::configuration_refused, {{Field::message, refusal->message}});
    std::cerr << "runner-manager: " << refusal->message << '\n';
    return refusal->exit_code;
  }
  // Until here a signal ends this process as it ends any other, also while a plugin's trial takes its time:
  // nothing has begun that a crash would not leave as well.
  signals_.add(SIGTERM);
  signals_.add(SIGINT);
  auto control = ControlServer::start(
      loop_, configuration_.control_socket,
      [this](const std::string& command, const std::string& request, const ControlReply& reply) {
        answer(command, request, reply);
      },
      &log_);
  if (!control) {
    std::cerr << "runner-manager: " << control.error().message << '\n';
    return kExitState;
  }
  control_ = std::move(*control);
  RMGR_CRASH_POINT("start.listening");
  log_.write(Level::info, observe::Event::daemon_started,
             {{Field::version, std::string(kVersion)},
              {Field::count, static_cast<std::int64_t>(configuration_.policies.size())}});
  wait_for_signal();
  forgive_plugins_.expires_after(kProvenUptime);
  forgive_plugins_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    if (auto forgotten = assembly_.quarantine().forget_crashes(); !forgotten)
      log_.write(Level::warning, observe::Event::journal_failed,
                 {{Field::message, forgotten.error().message}});
  });
  schedule_turn();
  service_manager_.ready();
  give_signs_of_life();
  loop_.run();
  return kExitOk;
}

int Daemon::run(const RunOptions& options) {
  const int code = serve(options);
  control_.reset();
  if (reading_.joinable()) reading_.join();  // a file's worth of time
  RMGR_CRASH_POINT("stop.loop_ended");
  const bool all_back = assembly_.shut_down();
  RMGR_CRASH_POINT("stop.lanes_ended");
  if (code == kExitOk) log_.write(Level::info, observe::Event::daemon_stopped, {});
  // A thread that never came back would run on into destroyed objects, so nothing is destroyed any more.
  if (!all_back) std::_Exit(code);
  return code;
}

}  // namespace

int run(const config::Configuration& configuration, const RunOptions& options) {
  ::umask(077);
  ServiceManager service_manager = ServiceManager::from_environment();
  // Other accounts must not read this process's memory or environment; it holds credentials.
  ::prctl(PR_SET_DUMPABLE, 0);
  std::signal(SIGPIPE, SIG_IGN);
  observe::LogOptions sink;
  sink.file = configuration.log_file;
  sink.level = observe::parse_level(configuration.log_level).value_or(Level::info);
  auto log = observe::make_log(sink);
  if (!log) {
    std::cerr << "runner-manager: " << log.error().message << '\n';
    return kExitState;
  }
  observe::LogSink& lines = **log;
  // A file that cannot be opened anew leaves the old one in use, and says so there.
  Daemon daemon(configuration, std::move(service_manager), lines, [&lines] {
    if (auto reopened = lines.reopen(); !reopened) {
      lines.write(Level::error, observe::Event::daemon_started, {{Field::message, reopened.error().message}});
    }
  });
  return daemon.run(options);
}

}  // namespace agent::daemon
