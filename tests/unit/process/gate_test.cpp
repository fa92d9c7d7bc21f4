#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <set>

#include "process/identity.hpp"
#include "process/protocol.hpp"
#include "unit/process/fixture.hpp"

namespace agent::process::testing {
namespace {

class GateTest : public ProcessTest {};

TEST_F(GateTest, RunsNothingUntilItIsReleased) {
  const ProcessIdentity identity = hold(shell("a", "echo ran > ran; exit 3"));
  EXPECT_EQ(identity.start_token, *start_token(identity.pid));
  auto state = host_->inspect("a", identity);
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(state->phase, Phase::prepared);
  EXPECT_FALSE(exists(work_ + "/ran"));
  ASSERT_TRUE(release("a", identity).ok());
  const State end = wait_end("a", identity);
  EXPECT_EQ(end.phase, Phase::exited);
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_EQ(end.signal, 0);
  EXPECT_TRUE(exists(work_ + "/ran"));
  EXPECT_TRUE(eventually([&] { return exits("a") == 1; }));
}

TEST_F(GateTest, ReleaseHappensAtMostOnce) {
  const ProcessIdentity identity = start(shell("a", "sleep 60"));
  auto again = release("a", identity);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::not_found);
}

TEST_F(GateTest, AStoppedGateRunsNothingAndIsMissing) {
  const ProcessIdentity identity = hold(shell("a", "echo ran > ran"));
  ASSERT_TRUE(host_->stop("a", identity, Millis(5'000), {}).ok());
  EXPECT_FALSE(alive(identity.pid));
  EXPECT_EQ(host_->inspect("a", identity)->phase, Phase::missing);
  EXPECT_EQ(release("a", identity).error().code, ErrorCode::not_found);
  EXPECT_FALSE(exists(work_ + "/ran"));
}

TEST_F(GateTest, AHostThatGoesClosesTheGate) {
  const ProcessIdentity identity = hold(shell("a", "echo ran > ran"));
  host_ = nullptr;
  EXPECT_FALSE(alive(identity.pid));
  EXPECT_EQ(zombies(), 0U);
  host_ = make_host();
  EXPECT_EQ(host_->inspect("a", identity)->phase, Phase::missing);
  EXPECT_FALSE(exists(work_ + "/ran"));
}

TEST_F(GateTest, TheGateTimesOut) {
  gate_timeout_ = Millis(50);
  host_ = make_host();
  const ProcessIdentity identity = hold(shell("a", "echo ran > ran"));
  EXPECT_TRUE(eventually([&] { return exits("a") == 1; }));
  EXPECT_EQ(host_->inspect("a", identity)->phase, Phase::missing);
  EXPECT_EQ(release("a", identity).error().code, ErrorCode::not_found);
  EXPECT_FALSE(exists(work_ + "/ran"));
}

TEST_F(GateTest, AKeyIsHeldOnceAndNeverReusedWithoutForget) {
  const ProcessIdentity identity = hold(shell("a", "exit 0"));
  EXPECT_EQ(host_->spawn_held(shell("a", "exit 0")).error().code, ErrorCode::exists);
  ASSERT_TRUE(release("a", identity).ok());
  wait_end("a", identity);
  EXPECT_EQ(host_->spawn_held(shell("a", "exit 0")).error().code, ErrorCode::exists);
  ASSERT_TRUE(host_->forget("a").ok());
  EXPECT_TRUE(host_->forget("a").ok());
  EXPECT_EQ(host_->inspect("a", identity)->phase, Phase::missing);
  hold(shell("a", "exit 0"));
}

TEST_F(GateTest, AKeyWhoseGateClosedCanBeHeldAgain) {
  const ProcessIdentity first = hold(shell("a", "exit 0"));
  ASSERT_TRUE(host_->stop("a", first, Millis(0), {}).ok());
  const ProcessIdentity second = hold(shell("a", "exit 5"));
  ASSERT_TRUE(release("a", second).ok());
  EXPECT_EQ(wait_end("a", second).exit_code, 5);
}

TEST_F(GateTest, TheEnvironmentIsExactlyWhatWasGivenAndTheSecret) {
  Spec spec = shell("a", "");
  spec.argv = {"/usr/bin/env"};
  spec.argv = {"/bin/sh", "-c", "exec /usr/bin/env > env"};
  spec.environment = {"PATH=/usr/bin:/bin", "EMPTY=", "ODD=a b=c\nd"};
  ASSERT_EQ(::setenv("RMGR_TEST_OWN", "must not travel", 1), 0);
  const ProcessIdentity identity = start(spec);
  wait_end("a", identity);
  std::string text = read_text(work_ + "/env");
  // The shell adds PWD of its own accord.
  const std::size_t pwd = text.find("PWD=");
  ASSERT_NE(pwd, std::string::npos);
  text.erase(pwd, text.find('\n', pwd) + 1 - pwd);
  std::multiset<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.insert(text.substr(at, end - at));
    at = end + 1;
  }
  EXPECT_EQ(lines, (std::multiset<std::string>{"PATH=/usr/bin:/bin", "EMPTY=", "ODD=a b=c", "d",
                                               std::string(secret_name) + "=" + secret}));
}

TEST_F(GateTest, TheSecretIsInNoCommandLineAndNotWithTheShim) {
  const ProcessIdentity identity = start(shell("a", "echo $$ > pid; sleep 60"));
  const std::int64_t child = read_pid(work_ + "/pid");
  EXPECT_NE(read_text("/proc/" + std::to_string(child) + "/environ").find(secret), std::string::npos);
  const auto all = all_processes();
  for (const Seen& process : *all) {
    const std::string cmdline = read_text("/proc/" + std::to_string(process.pid) + "/cmdline");
    EXPECT_EQ(cmdline.find(secret), std::string::npos) << cmdline;
  }
  const std::string shim = "/proc/" + std::to_string(identity.pid);
  EXPECT_EQ(read_text(shim + "/environ").find(secret), std::string::npos);
  EXPECT_EQ(read_text(shim + "/cmdline"), std::string("rmgr-shim\0a\0", 12));
  if (::geteuid() == 0) {
    // What the shim still holds in memory: its own pages are searched, as only root may.
    FILE* maps = std::fopen((shim + "/maps").c_str(), "r");
    FILE* memory = std::fopen((shim + "/mem").c_str(), "r");
    ASSERT_TRUE(maps != nullptr && memory != nullptr);
    unsigned long from = 0;
    unsigned long to = 0;
    char flags[5];
    std::size_t searched = 0;
    while (std::fscanf(maps, "%lx-%lx %4s %*[^\n]", &from, &to, flags) == 3) {
      if (flags[0] != 'r' || flags[1] != 'w' || to - from > (8UL << 20U)) continue;
      std::string bytes(to - from, '\0');
      if (std::fseek(memory, static_cast<long>(from), SEEK_SET) != 0) continue;
      searched += std::fread(bytes.data(), 1, bytes.size(), memory);
      EXPECT_EQ(bytes.find(secret), std::string::npos);
    }
    EXPECT_GT(searched, 0U);
    std::fclose(maps);
    std::fclose(memory);
  }
}

TEST_F(GateTest, TheShimCannotBeReadByItsOwnAccount) {
  const ProcessIdentity identity = hold(shell("a", "exit 0"));
  struct stat info {};
  ASSERT_EQ(::stat(("/proc/" + std::to_string(identity.pid) + "/environ").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 0U);  // the kernel gives the files of a process that is not dumpable to root
}

TEST_F(GateTest, TheChildBecomesTheAccountAndNothingMore) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can start a process as another account";
  Spec spec =
      shell("a", "cat /proc/self/status > status; umask > umask; pwd > pwd; ls -l /proc/self/fd > fd");
  spec.uid = 12345;
  spec.gid = 12346;
  EXPECT_EQ(wait_end("a", start(spec)).exit_code, 0);
  const std::string status = read_text(work_ + "/status");
  EXPECT_NE(status.find("Uid:\t12345\t12345\t12345\t12345\n"), std::string::npos) << status;
  EXPECT_NE(status.find("Gid:\t12346\t12346\t12346\t12346\n"), std::string::npos);
  EXPECT_NE(status.find("Groups:\t \n"), std::string::npos);
  EXPECT_NE(status.find("CapEff:\t0000000000000000\n"), std::string::npos);
  EXPECT_NE(status.find("SigBlk:\t0000000000000000\n"), std::string::npos);
  EXPECT_NE(status.find("SigIgn:\t0000000000000000\n"), std::string::npos) << status;
  EXPECT_EQ(read_text(work_ + "/umask"), "0022\n");
  EXPECT_EQ(read_text(work_ + "/pwd"), work_ + "\n");
  const std::string fds = read_text(work_ + "/fd");
  EXPECT_EQ(fds.find("socket:"), std::string::npos) << fds;
  EXPECT_EQ(fds.find("pipe:"), std::string::npos) << fds;
}

TEST_F(GateTest, WhatCannotExecuteIsInvalidAndRanNothing) {
  struct Case {
    const char* name;
    std::function<void(Spec&)> spoil;
    const char* words;
  };
  write_text(work_ + "/no-right", "#!/bin/sh\n");
  write_text(work_ + "/nonsense",
             "\x7f"
             "ELF?");
  ::chmod((work_ + "/nonsense").c_str(), 0755);
  const std::vector<Case> cases = {
      {"missing", [](Spec& spec) { spec.argv = {"/no/such/program"}; }, "No such file"},
      {"right", [&](Spec& spec) { spec.argv = {work_ + "/no-right"}; }, "Permission denied"},
      {"format", [&](Spec& spec) { spec.argv = {work_ + "/nonsense"}; }, "Exec format error"},
      {"directory", [](Spec& spec) { spec.directory = "/no/such/directory"; }, "/no/such/directory"},
  };
  for (const Case& each : cases) {
    Spec spec = shell(each.name, "echo ran > ran");
    each.spoil(spec);
    const ProcessIdentity identity = hold(spec);
    auto released = release(each.name, identity);
    ASSERT_FALSE(released.ok()) << each.name;
    EXPECT_EQ(released.error().code, ErrorCode::invalid) << released.error().message;
    EXPECT_NE(released.error().message.find(each.words), std::string::npos) << released.error().message;
    EXPECT_EQ(wait_end(each.name, identity).phase, Phase::missing);
  }
  EXPECT_FALSE(exists(work_ + "/ran"));
}

TEST_F(GateTest, RefusesSpecsAndSecretsThatCannotWork) {
  const auto code = [&](const std::function<void(Spec&)>& spoil) {
    Spec spec = shell("bad", "exit 0");
    spoil(spec);
    auto held = host_->spawn_held(spec);
    return held ? ErrorCode::internal : held.error().code;
  };
  EXPECT_EQ(code([](Spec& s) { s.key = "../x"; }), ErrorCode::invalid);
  EXPECT_EQ(code([](Spec& s) { s.argv.clear(); }), ErrorCode::invalid);
  EXPECT_EQ(code([](Spec& s) { s.argv[0] = "sh"; }), ErrorCode::invalid);
  EXPECT_EQ(code([](Spec& s) { s.argv.resize(257, "x"); }), ErrorCode::invalid);
  EXPECT_EQ(code([](Spec& s) { s.argv[1] = std::string("a\0b", 3); }), ErrorCode::invalid);
  EXPECT_EQ(code([](Spec& s) { s.directory = "work"; }), ErrorCode::invalid);
  EXPECT_EQ(code([](Spec& s) { s.environment = {"NOTHING"}; }), ErrorCode::invalid);
  EXPECT_EQ(code([](Spec& s) { s.environment = {"=x"}; }), ErrorCode::invalid);
  EXPECT_EQ(code([](Spec& s) { s.environment = {"A=" + std::string(2U << 20U, 'x')}; }), ErrorCode::invalid);
  EXPECT_EQ(code([](Spec& s) { s.uid = 5; }), ErrorCode::invalid);
  EXPECT_FALSE(exists(directory_.path() + "/records/bad"));

  const ProcessIdentity identity = hold(shell("a", "exit 0"));
  const std::string too_long(wire::max_secret + 1, 'x');
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
           {"", "x"}, {"A=B", "x"}, {"A", too_long}, {"A", std::string("a\0b", 3)}}) {
    EXPECT_EQ(host_->release("a", identity, name, value, Millis(1'000)).error().code, ErrorCode::invalid);
  }
  EXPECT_TRUE(release("a", identity).ok());
}

TEST_F(GateTest, ALongSecretArrivesWhole) {
  const std::string large(wire::max_secret, 'x');
  const ProcessIdentity identity = hold(shell("a", "printf %s \"$BIG\" | wc -c > size"));
  ASSERT_TRUE(host_->release("a", identity, "BIG", large, Millis(20'000)).ok());
  wait_end("a", identity);
  EXPECT_EQ(read_text(work_ + "/size"), std::to_string(large.size()) + "\n");
}

TEST_F(GateTest, AMissingShimIsRefusedAtTheStart) {
  Options wrong = options();
  wrong.shim = "/no/such/shim";
  EXPECT_EQ(ProcessHost::create(wrong, {}).error().code, ErrorCode::invalid);
}

}  // namespace
}  // namespace agent::process::testing
