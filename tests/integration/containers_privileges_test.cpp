// What a job finds that it may do, seen from inside; and what an operator may loosen.
#include <algorithm>
#include <sstream>

#include "containers.hpp"
#include "support/everything.hpp"

namespace integration {
namespace {

using nlohmann::json;
using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// CHOWN DAC_OVERRIDE FOWNER FSETID KILL SETGID SETUID SETFCAP, by their numbers in the kernel.
constexpr const char* kBase = "00000000800000fb";
constexpr const char* kBaseAndPtrace = "00000000800800fb";

// What one job reported of itself; it stays until the returned container is released.
class Inside : public ::testing::Test {
 protected:
  void run(const Containers& wanted, const std::string& commands) {
    stage.emplace(1, wanted);
    ASSERT_TRUE(stage->agent().start());
    stage->queue(1, reports(commands));
    ASSERT_TRUE(stage->at_work(1));
    container = only_container();
    report = report_of(container);
    ASSERT_FALSE(report.empty());
  }
  void finish() {
    release(container);
    ASSERT_TRUE(stage->settles(1));
    stage->expect_each_ran_once();
  }
  // What follows `name:` in /proc/self/status.
  [[nodiscard]] std::string status(const std::string& name) const {
    std::istringstream lines(report);
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind(name + ":", 0) != 0) continue;
      line.erase(0, line.find_first_not_of(" \t", name.size() + 1));
      return line;
    }
    return "(not there)";
  }

  std::optional<ContainerStage> stage;
  std::string container, report;
};

TEST_F(Inside, a_job_has_the_few_capabilities_that_package_managers_need_and_gains_none) {
  run({}, "cat /proc/self/status");
  for (const char* set : {"CapPrm", "CapEff", "CapBnd"})
    EXPECT_EQ(status(set), kBase) << set;
  EXPECT_EQ(status("NoNewPrivs"), "1");
  EXPECT_EQ(status("Seccomp"), "2");
  finish();
}

TEST_F(Inside, a_job_sees_nothing_of_the_machine) {
  run({}, "cat /proc/self/mountinfo; echo; for s in /var/run/docker.sock /run/podman/podman.sock " +
              engine().socket + "; do [ -e $s ] && echo SOCKET $s; done; [ -e " + engine().state +
              " ] && echo STATE; ls /dev; for p in /proc/[0-9]*; do cat $p/cmdline; echo; done; "
              "for n in net pid ipc mnt uts; do readlink /proc/self/ns/$n; done; "
              "mknod /disk b 254 0 && echo MADE A DEVICE; mount -t tmpfs x /bin && echo MOUNTED; "
              "echo 1 > /proc/sys/kernel/core_pattern && echo CHANGED THE KERNEL; true");
  for (const char* never : {"SOCKET", "STATE", "MADE A DEVICE", "MOUNTED", "CHANGED", "runner-manager run",
                            "vda", "loop", "kmsg\n"})
    EXPECT_THAT(report, Not(HasSubstr(never)));
  // Of the host's filesystems only the engine's own files for names and the init process.
  std::istringstream lines(report);
  const std::string own = engine().state;
  for (std::string line; std::getline(lines, line) && !line.empty();) {
    std::istringstream words(line);
    std::string id, parent, device, root, point;
    words >> id >> parent >> device >> root >> point;
    const bool engines_own = point == "/" || point == "/etc/hosts" || point == "/etc/hostname" ||
                             point == "/etc/resolv.conf" || point.rfind("/run", 0) == 0 ||
                             point.rfind("/proc", 0) == 0 || point.rfind("/sys", 0) == 0 ||
                             point.rfind("/dev", 0) == 0 || point == "/sbin/docker-init";
    EXPECT_TRUE(engines_own) << line;
  }
  const json shown = containers().front();
  for (const char* list : {"Binds", "Devices"})
    EXPECT_TRUE(shown["HostConfig"][list].is_null() || shown["HostConfig"][list].empty()) << list;
  EXPECT_FALSE(shown["HostConfig"]["Privileged"].get<bool>());
  const std::string machine = testkit::run_program(
      {"/bin/sh", "-c", "for n in net pid ipc mnt uts; do readlink /proc/self/ns/$n; done"}, nullptr);
  std::istringstream spaces(machine);
  for (std::string space; std::getline(spaces, space);)
    EXPECT_THAT(report, Not(HasSubstr(space))) << "shared with the machine";
  finish();
}

TEST_F(Inside, each_job_has_a_network_of_its_own) {
  ContainerStage two(2);
  ASSERT_TRUE(two.agent().start());
  two.queue(2, reports("ip -o -4 address; readlink /proc/self/ns/net"));
  ASSERT_TRUE(two.at_work(2));
  const auto both = containers();
  ASSERT_EQ(both.size(), 2U);
  std::set<std::string> spaces, networks, subnets;
  for (const json& one : both) {
    const std::string said = report_of(one["Id"]);
    spaces.insert(said.substr(said.rfind("net:")));
    for (const auto& [name, network] : one["NetworkSettings"]["Networks"].items()) {
      networks.insert(name);
      subnets.insert(network["Gateway"].get<std::string>());
      EXPECT_THAT(name, HasSubstr("rm-"));
    }
  }
  EXPECT_EQ(spaces.size(), 2U);
  EXPECT_EQ(networks.size(), 2U);
  EXPECT_EQ(subnets.size(), 2U);
  for (const json& one : both)
    release(one["Id"]);
  ASSERT_TRUE(two.settles(2));
  two.expect_each_ran_once();
}

TEST_F(Inside, limits_of_memory_end_a_job_and_the_attempt_says_so) {
  ContainerStage small(1, {.profile = {{"memory", "256MiB"}}});
  ASSERT_TRUE(small.agent().start());
  small.queue(1, "dd if=/dev/zero of=/dev/null bs=400M count=1 && echo it had more than its limit");
  ASSERT_TRUE(small.settles(1));
  EXPECT_EQ(small.github()->jobs().front().result, "failure");
  ASSERT_EQ(small.agent().attempts().size(), 1U);
  EXPECT_TRUE(small.agent().attempts().front().out_of_memory);
  small.expect_nothing_left();
}

TEST_F(Inside, limits_of_processes_hold) {
  ContainerStage small(1, {.profile = {{"pids", "64"}}});
  ASSERT_TRUE(small.agent().start());
  small.queue(1,
              "sh -c 'i=0; while [ $i -lt 200 ]; do sleep 20 & i=$((i+1)); echo $i > /count; done' 2> /told; "
              "read n < /count; [ $n -gt 20 ] && [ $n -lt 64 ] && read t < /told");
  ASSERT_TRUE(small.settles(1));
  small.expect_each_ran_once();
}

TEST_F(Inside, limits_of_processors_hold) {
  run({.profile = {{"cpu", "0.5"}}},
      "for n in 1 2; do (i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done) & done; wait; "
      "for f in /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu/cpu.stat /sys/fs/cgroup/cpu.max "
      "/sys/fs/cgroup/cpu.stat; do [ -e $f ] && cat $f; done; true");
  EXPECT_THAT(report, HasSubstr("50000"));
  EXPECT_THAT(report, ContainsRegex("nr_throttled [1-9]"));
  finish();
}

TEST_F(Inside, set_user_id_programs_give_an_ordinary_user_nothing) {
  run({.config = ", pull: never, user: \"1000:1000\""}, "id -u; su; cat /proc/self/status");
  EXPECT_THAT(report, HasSubstr("1000\n"));
  EXPECT_THAT(report, HasSubstr("must be suid"));
  EXPECT_EQ(status("CapEff"), "0000000000000000");
  finish();
}

TEST_F(Inside, an_operator_loosens_by_name_for_one_policy_and_status_says_so) {
  ContainerStage mixed(
      2, {.config = ", pull: never, user: \"1000:1000\", policies: {loose: {privilege_escalation: true, "
                    "add_capabilities: [SYS_PTRACE]}}",
          .change = [](testkit::AgentSetup& setup) {
            testkit::PolicySpec strict = setup.policies.front(), loose = strict;
            strict.name = "strict";
            strict.labels = {"strict"};
            loose.name = "loose";
            loose.labels = {"loose"};
            setup.policies = {strict, loose};
          }});
  ASSERT_TRUE(mixed.agent().start());
  for (const char* label : {"strict", "loose"})
    mixed.queue(1, reports("su; cat /proc/self/status"), {"self-hosted", label});
  ASSERT_TRUE(mixed.at_work(2));
  for (const json& one : containers()) {
    report = report_of(one["Id"]);
    const bool loose = one["Config"]["Labels"]["runner-manager.policy"] == "loose";
    EXPECT_EQ(status("NoNewPrivs"), loose ? "0" : "1");
    EXPECT_EQ(status("CapBnd"), loose ? kBaseAndPtrace : kBase);
    EXPECT_THAT(report, loose ? Not(HasSubstr("must be suid")) : HasSubstr("must be suid"));
  }
  for (const auto& policy : mixed.agent().policies()) {
    if (policy.name == "strict") {
      EXPECT_EQ(policy.note, "");
    } else {
      EXPECT_THAT(policy.note, HasSubstr("privilege_escalation"));
      EXPECT_THAT(policy.note, HasSubstr("SYS_PTRACE"));
    }
  }
  for (const json& one : containers())
    release(one["Id"]);
  ASSERT_TRUE(mixed.settles(2));
  mixed.expect_each_ran_once();
}

TEST_F(Inside, an_operator_tightens_by_name_too) {
  ContainerStage tight(1, {.config = ", pull: never, read_only: true, tmpfs: [/scratch]"});
  ASSERT_TRUE(tight.agent().start());
  // What writes to /report elsewhere cannot here.
  tight.queue(1,
              "! echo x > /report && ! rm /bin/nc && echo x > /tmp/x && echo x > /scratch/x && echo x > ./x");
  ASSERT_TRUE(tight.settles(1));
  tight.expect_each_ran_once();
}

}  // namespace
}  // namespace integration
