#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "process/identity.hpp"
#include "unit/process/fixture.hpp"

namespace agent::process::testing {
namespace {

// A daemon that dies: a process that starts a child through a host of its own and is then killed without
// warning.
class AdoptTest : public ProcessTest {
 protected:
  void SetUp() override {}  // no host, and so no thread, before the fork

  ProcessIdentity start_in_a_daemon_that_dies(const Spec& spec, bool released) {
    std::filesystem::create_directory(work_);
    int channel[2];
    EXPECT_EQ(::pipe(channel), 0);
    const pid_t daemon = ::fork();
    if (daemon == 0) {
      auto host = ProcessHost::create(options(), {});
      ProcessIdentity identity;
      if (host) {
        auto held = (*host)->spawn_held(spec);
        if (held &&
            (!released || (*host)->release(spec.key, *held, secret_name, secret, Millis(20'000)).ok())) {
          identity = *held;
        }
      }
      const std::int64_t numbers[] = {identity.pid, static_cast<std::int64_t>(identity.start_token)};
      static_cast<void>(!::write(channel[1], numbers, sizeof numbers));
      for (;;)
        ::pause();
    }
    ::close(channel[1]);
    std::int64_t numbers[2] = {};
    EXPECT_EQ(::read(channel[0], numbers, sizeof numbers), static_cast<ssize_t>(sizeof numbers));
    ::close(channel[0]);
    ::kill(daemon, SIGKILL);
    ::waitpid(daemon, nullptr, 0);
    EXPECT_GT(numbers[0], 0);
    host_ = make_host();
    return {numbers[0], static_cast<std::uint64_t>(numbers[1]), *current_boot()};
  }
};

TEST_F(AdoptTest, TheChildOutlivesItsDaemonAndItsEndIsKnown) {
  const ProcessIdentity identity = start_in_a_daemon_that_dies(
      shell("a", "echo $$ > pid; while [ ! -e go ]; do sleep 0.01; done; exit 42"), true);
  auto state = host_->inspect("a", identity);
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(state->phase, Phase::running);
  EXPECT_EQ(release("a", identity).error().code, ErrorCode::not_found);
  write_text(work_ + "/go", "");
  EXPECT_TRUE(eventually([&] { return exits("a") == 1; }));
  const State end = wait_end("a", identity);
  EXPECT_EQ(end.phase, Phase::exited);
  EXPECT_EQ(end.exit_code, 42);
  EXPECT_TRUE(host_->forget("a").ok());
}

TEST_F(AdoptTest, AnAdoptedChildCanBeStopped) {
  const ProcessIdentity identity = start_in_a_daemon_that_dies(
      shell("a", "trap '' TERM; echo $$ > pid; while :; do sleep 0.05; done"), true);
  const std::int64_t main = read_pid(work_ + "/pid");
  ASSERT_TRUE(host_->stop("a", identity, Millis(50), {}).ok());
  EXPECT_FALSE(alive(main));
  EXPECT_EQ(host_->inspect("a", identity)->signal, SIGKILL);
  EXPECT_TRUE(host_->forget("a").ok());
}

TEST_F(AdoptTest, AGateWhoseDaemonDiedRunsNothing) {
  const ProcessIdentity identity = start_in_a_daemon_that_dies(shell("a", "echo ran > ran"), false);
  EXPECT_EQ(wait_end("a", identity).phase, Phase::missing);
  EXPECT_FALSE(exists(work_ + "/ran"));
  EXPECT_TRUE(host_->forget("a").ok());
}

TEST_F(AdoptTest, ARecordIsReadByAnyLaterHost) {
  const ProcessIdentity identity = start_in_a_daemon_that_dies(shell("a", "exit 7"), true);
  EXPECT_EQ(wait_end("a", identity).exit_code, 7);
  host_ = nullptr;
  host_ = make_host();
  EXPECT_EQ(host_->inspect("a", identity)->exit_code, 7);
  EXPECT_TRUE(host_->forget("a").ok());
}

}  // namespace
}  // namespace agent::process::testing
