#include "cli/cli.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "cli/control_client.hpp"
#include "cli/table.hpp"
#include "daemon/control_protocol.hpp"
#include "journal/journal.hpp"
#include "support/temporary.hpp"

namespace agent::cli {
namespace {

// Takes one request and answers with what it was told; a fake of the daemon's side of the socket.
class OneAnswer {
 public:
  OneAnswer(std::string path, std::string answer) : path_(std::move(path)), answer_(std::move(answer)) {
    fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(fd_, 4), 0);
    thread_ = std::thread([this] { serve(); });
  }
  OneAnswer(const OneAnswer&) = delete;
  OneAnswer& operator=(const OneAnswer&) = delete;
  ~OneAnswer() {
    ::shutdown(fd_, SHUT_RDWR);
    thread_.join();
    ::close(fd_);
  }
  [[nodiscard]] std::string request() {
    ::shutdown(fd_, SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    thread_ = std::thread([] {});
    return request_;
  }

 private:
  void serve() {
    const int peer = ::accept(fd_, nullptr, nullptr);
    if (peer < 0) return;
    char byte = 0;
    while (::read(peer, &byte, 1) == 1 && byte != '\n')
      request_ += byte;
    (void)!::send(peer, answer_.data(), answer_.size(), MSG_NOSIGNAL);
    ::close(peer);
  }
  std::string path_, answer_, request_;
  int fd_ = -1;
  std::thread thread_;
};

class Cli : public ::testing::Test {
 protected:
  Cli() {
    socket_ = directory_ + "/control.sock";
    config_ = directory_ + "/config.yaml";
    std::ofstream(config_) << "state: " << directory_ << "\n";
  }

  int type(const std::vector<std::string>& arguments) {
    out_.str("");
    err_.str("");
    Surface surface{
        .out = out_, .err = err_, .run_agent = [this](const auto& configuration, const auto& options) {
          ran_ = configuration.state_directory;
          program_directory_ = options.program_directory;
          return 6;
        }};
    return run(arguments, surface);
  }

  const testkit::TemporaryDirectory temporary_{0700};
  const std::string directory_ = temporary_.path();
  std::string socket_, config_, ran_, program_directory_;
  std::ostringstream out_, err_;
};

TEST_F(Cli, EveryCommandHasHelpWithTheExitCodes) {
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{{},
                                                                                       {"run"},
                                                                                       {"status"},
                                                                                       {"attempts"},
                                                                                       {"drain"},
                                                                                       {"config", "check"},
                                                                                       {"plugin", "list"},
                                                                                       {"version"}}) {
    std::vector<std::string> arguments = command;
    arguments.emplace_back("--help");
    EXPECT_EQ(type(arguments), kOk);
    EXPECT_NE(out_.str().find("3 configuration refused"), std::string::npos) << out_.str();
    EXPECT_EQ(err_.str(), "");
  }
}

TEST_F(Cli, WrongCommandLinesAreUsageErrors) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{},
                                             {"nonsense"},
                                             {"run"},
                                             {"run", "--nonsense"},
                                             {"status"},
                                             {"attempts", "--socket", "/s", "--limit", "0"},
                                             {"attempts", "--socket", "/s", "--limit", "many"},
                                             {"status", "--socket", "/s", "--config", "/c"},
                                             {"config"},
                                             {"config", "check"},
                                             {"plugin"},
                                             {"plugin", "list"},
                                             {"version", "extra"}}) {
    EXPECT_EQ(type(arguments), kUsage) << (arguments.empty() ? "" : arguments.front());
    EXPECT_NE(err_.str(), "");
    EXPECT_EQ(out_.str(), "");
  }
}

TEST_F(Cli, RunHandsTheConfigurationOver) {
  EXPECT_EQ(type({"run", "--config", config_}), 6);
  EXPECT_EQ(ran_, directory_);
  EXPECT_TRUE(std::filesystem::is_directory(program_directory_));
}

TEST_F(Cli, ARefusedConfigurationStartsNothing) {
  std::ofstream(config_) << "state: relative\n";
  for (const std::string command : {"run", "status", "attempts", "drain"}) {
    EXPECT_EQ(type({command, "--config", config_}), kConfigurationRefused) << command;
    EXPECT_NE(err_.str().find(config_ + ":1:8: state must be an absolute path"), std::string::npos)
        << err_.str();
  }
  EXPECT_EQ(ran_, "");
}

TEST_F(Cli, ConfigCheck) {
  EXPECT_EQ(type({"config", "check", config_}), kOk);
  EXPECT_NE(out_.str().find("no problems"), std::string::npos);
  EXPECT_EQ(type({"config", "check", config_, "--json"}), kOk);
  EXPECT_NE(out_.str().find("\"ok\":true"), std::string::npos);
  std::ofstream(config_) << "state: /s\nhosts: 1\ntoken: hunter2\n";
  EXPECT_EQ(type({"config", "check", config_}), kConfigurationRefused);
  EXPECT_NE(err_.str().find("config.yaml:2:1: unknown key `hosts`"), std::string::npos) << err_.str();
  EXPECT_EQ(err_.str().find("hunter2"), std::string::npos);
  EXPECT_EQ(type({"config", "check", config_, "--json"}), kConfigurationRefused);
  EXPECT_NE(out_.str().find("\"line\":2"), std::string::npos) << out_.str();
  EXPECT_EQ(out_.str().find("hunter2"), std::string::npos);
  EXPECT_EQ(type({"config", "check", directory_ + "/none.yaml"}), kConfigurationRefused);
}

TEST_F(Cli, Version) {
  EXPECT_EQ(type({"version"}), kOk);
  EXPECT_TRUE(out_.str().starts_with("runner-manager "));
}

TEST_F(Cli, WithoutADaemon) {
  for (const std::string command : {"status", "drain"}) {
    EXPECT_EQ(type({command, "--config", config_}), kNotRunning);
    EXPECT_EQ(type({command, "--socket", socket_}), kNotRunning);
    EXPECT_NE(err_.str().find(socket_), std::string::npos);
  }
  EXPECT_EQ(type({"attempts", "--socket", socket_}), kNotRunning);
}

TEST_F(Cli, JsonIsWhatTheDaemonGave) {
  OneAnswer daemon(socket_, daemon::control_result("{\"b\": 1,  \"a\":[]}") + "\n");
  EXPECT_EQ(type({"status", "--json", "--config", config_}), kOk) << err_.str();
  EXPECT_EQ(out_.str(), "{\"b\": 1,  \"a\":[]}\n");
  EXPECT_EQ(daemon.request(), "{\"command\":\"status\"}");
}

TEST_F(Cli, StatusForPeople) {
  OneAnswer daemon(
      socket_, daemon::control_result(R"({"version":"1.2","draining":true,"host":{"capacity":4,"active":1},
    "policies":[{"name":"web","target":"o/r","provider":"native","state":"active","queued":2,"busy":1,"active":1,"max":4,
      "limited_by":"host_capacity","note":"tight"}],
    "instances":[{"name":"github","kind":"gateway","plugin":"github","version":"0.1","ready":false,"stuck":true,"refusal":"hangs"}],
    "targets":[{"target":"o/r","gateway":"github","error":"unreachable","refused_jobs":{"no_labels":3}}],
    "attempts":[{"id":"a1","policy":"web","state":"busy","outcome":null,"runner_id":7,"pid":99}],
    "notices":["look \u001b[31mhere"]})") +
                   "\n");
  EXPECT_EQ(type({"status", "--socket", socket_}), kOk) << err_.str();
  const std::string text = out_.str();
  for (const char* part : {"1 of 4 runners", "draining", "web", "host_capacity", "tight", "stuck", "hangs",
                           "unreachable", "no_labels", "a1", "busy", "99", "\\x1b[31mhere"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST_F(Cli, OddAnswersAreNotUnderstoodAndHarmless) {
  for (const std::string result : {"[]", "1", "null"}) {
    OneAnswer daemon(socket_, daemon::control_result(result) + "\n");
    EXPECT_EQ(type({"status", "--socket", socket_}), kFailed) << result;
    std::filesystem::remove(socket_);
  }
  for (
      const std::string result :
      {"{}",
       R"({"host":3,"policies":[1,null],"instances":{},"targets":[{"refused_jobs":4}],"attempts":7,"notices":[5]})"}) {
    OneAnswer daemon(socket_, daemon::control_result(result) + "\n");
    EXPECT_EQ(type({"status", "--socket", socket_}), kOk) << result;
    std::filesystem::remove(socket_);
  }
  for (const std::string answer : {"nonsense\n", "", "{\"ok\":true}\n"}) {
    OneAnswer daemon(socket_, answer);
    EXPECT_EQ(type({"attempts", "--socket", socket_}), kFailed) << answer;
    std::filesystem::remove(socket_);
  }
}

TEST_F(Cli, TheDaemonsErrorIsShown) {
  OneAnswer daemon(socket_, daemon::control_error({domain::ErrorCode::invalid, "unknown command"}) + "\n");
  EXPECT_EQ(type({"drain", "--socket", socket_}), kFailed);
  EXPECT_EQ(err_.str(), "runner-manager: unknown command\n");
}

TEST_F(Cli, AttemptsAskForTheLimit) {
  OneAnswer daemon(
      socket_,
      daemon::control_result(
          R"({"attempts":[{"id":"a1","policy":"web","state":"cleaned","outcome":"failed","reason":"jit_expired"}]})") +
          "\n");
  EXPECT_EQ(type({"attempts", "--socket", socket_, "--limit", "3"}), kOk) << err_.str();
  EXPECT_NE(out_.str().find("jit_expired"), std::string::npos);
  EXPECT_EQ(daemon.request(), "{\"command\":\"attempts\",\"limit\":3}");
}

TEST_F(Cli, AttemptsAreReadFromTheJournalOfAStoppedDaemon) {
  journal::OpenOptions options;
  options.path = directory_ + "/journal.db";
  options.exclusive = false;
  options.installation = "11111111-2222-4333-8444-555555555555";
  options.machine = "machine";
  {
    auto journal = journal::Journal::open(options);
    ASSERT_TRUE(journal.ok()) << journal.error().message;
  }
  EXPECT_EQ(type({"attempts", "--config", config_, "--json"}), kOk) << err_.str();
  EXPECT_EQ(out_.str(), "{\"attempts\":[]}\n");
  EXPECT_EQ(type({"attempts", "--config", config_}), kOk);
  EXPECT_EQ(out_.str(), "no attempts\n");
}

TEST_F(Cli, AJournalThatCannotBeReadIsSaid) {
  EXPECT_EQ(type({"attempts", "--config", config_}), kStateRefused);
  EXPECT_NE(err_.str(), "");
}

TEST_F(Cli, AdoptInstallationTakesOverTheJournalOfAnotherMachine) {
  EXPECT_EQ(type({"adopt-installation", "--config", config_}), kStateRefused);
  EXPECT_NE(err_.str().find("there is no journal"), std::string::npos) << err_.str();
  journal::OpenOptions open;
  open.path = directory_ + "/journal.db";
  open.installation = "00000000-0000-4000-8000-000000000001";
  open.machine = "another machine";
  ASSERT_TRUE(journal::Journal::open(open).ok());
  EXPECT_EQ(type({"adopt-installation", "--config", config_}), kOk) << err_.str();
  EXPECT_NE(out_.str().find("installation 00000000-0000-4000-8000-000000000001 belongs"), std::string::npos);
  EXPECT_EQ(journal::Journal::open(open).error().code, domain::ErrorCode::denied) << "it left that machine";
}

TEST_F(Cli, PluginReleaseNamesWhatIsNotThere) {
  EXPECT_EQ(type({"plugin", "release", "nothing", "--config", config_}), kFailed);
  EXPECT_NE(err_.str().find("there is no plugin of that id"), std::string::npos) << err_.str();
}

TEST_F(Cli, PluginListOfAnEmptyDirectory) {
  EXPECT_EQ(type({"plugin", "list", "--plugin-dir", directory_, "--json"}), kOk);
  EXPECT_EQ(out_.str(), "{\"plugins\":[]}\n");
  EXPECT_EQ(type({"plugin", "list", "--plugin-dir", directory_}), kOk);
}

TEST(Table, AlignsCharactersAndShowsControls) {
  Table table({"A", "B"});
  table.add({"grüß", "x"});
  table.add({"", "a\nb"});
  std::ostringstream out;
  table.print(out);
  EXPECT_EQ(out.str(), "A     B\ngrüß  x\n-     a\\nb\n");
}

}  // namespace
}  // namespace agent::cli
