#include <grp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "daemon/control_server.hpp"
#include "daemon/control_socket.hpp"
#include "support/recording_log.hpp"
#include "support/temporary.hpp"

namespace agent::daemon {
namespace {

using domain::ErrorCode;

int dial(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  ::close(fd);
  return -1;
}

std::string read_all(int fd) {
  std::string all;
  char buffer[4096];
  for (;;) {
    const ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count <= 0) return all;
    all.append(buffer, static_cast<std::size_t>(count));
  }
}

std::string ask(const std::string& path, std::string_view bytes) {
  const int fd = dial(path);
  if (fd < 0) return "no connection";
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) break;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  std::string answer = read_all(fd);
  ::close(fd);
  return answer;
}

class Control : public ::testing::Test {
 protected:
  Control() { path_ = directory_ + "/control.sock"; }
  ~Control() override { stop(); }

  void start() {
    auto server = ControlServer::start(
        loop_, path_,
        [this](const std::string& command, const std::string& request, const ControlReply& reply) {
          if (command == "throw") throw std::runtime_error("defect");
          if (command == "large") return reply(control_result("\"" + std::string(8 << 20, 'x') + "\""));
          if (command == "newline") return reply(control_result("[1,\n2]"));
          const std::string heard = control_result("{\"heard\":\"" + command + "\",\"n\":" +
                                                   std::to_string(control_number(request, "n", -1)) + "}");
          if (command != "later") return reply(heard);
          boost::asio::post(loop_, [reply, heard] { reply(heard); });
        },
        &log_);
    ASSERT_TRUE(server.ok()) << server.error().message;
    server_ = std::move(*server);
    thread_ = std::thread([this] {
      const auto work = boost::asio::make_work_guard(loop_);
      loop_.run();
    });
  }
  void stop() {
    if (!thread_.joinable()) return;
    boost::asio::post(loop_, [this] {
      server_.reset();
      loop_.stop();
    });
    thread_.join();
  }

  const testkit::TemporaryDirectory temporary_{0700};
  const std::string directory_ = temporary_.path();
  std::string path_;
  agent::testing::RecordingLog log_;
  boost::asio::io_context loop_{1};
  std::unique_ptr<ControlServer> server_;
  std::thread thread_;
};

TEST_F(Control, OneLineInOneLineOut) {
  start();
  EXPECT_EQ(ask(path_, "{\"command\":\"status\",\"n\":7}\n"),
            "{\"ok\":true,\"result\":{\"heard\":\"status\",\"n\":7}}\n");
  EXPECT_EQ(ask(path_, "{\"command\":\"newline\"}\n"), "{\"ok\":true,\"result\":[1, 2]}\n");
  EXPECT_EQ(ask(path_, "{\"command\":\"large\"}\n").size(), (8U << 20) + 24);
}

TEST_F(Control, AnAnswerMayComeLater) {
  start();
  EXPECT_EQ(ask(path_, "{\"command\":\"later\",\"n\":1}\n"),
            "{\"ok\":true,\"result\":{\"heard\":\"later\",\"n\":1}}\n");
}

TEST_F(Control, WrongRequestsAreAnswered) {
  start();
  const auto is_invalid = [&](const std::string& bytes) {
    const auto outcome = control_outcome(ask(path_, bytes));
    return !outcome.ok() && outcome.error().code == ErrorCode::invalid;
  };
  EXPECT_TRUE(is_invalid("nonsense\n"));
  EXPECT_TRUE(is_invalid("[]\n"));
  EXPECT_TRUE(is_invalid("{\"command\":7}\n"));
  EXPECT_TRUE(is_invalid("{}\n"));
  EXPECT_TRUE(is_invalid("\n"));
  EXPECT_TRUE(is_invalid(std::string(kLargestControlRequest + 100, 'x')));
  EXPECT_TRUE(is_invalid(std::string(60'000, '[') + "\n"));
  const auto defect = control_outcome(ask(path_, "{\"command\":\"throw\"}\n"));
  ASSERT_FALSE(defect.ok());
  EXPECT_EQ(defect.error().code, ErrorCode::internal);
  EXPECT_NE(ask(path_, "{\"command\":\"status\"}\n"), "");
}

TEST_F(Control, ARequestWithoutItsLineIsDropped) {
  start();
  const int fd = dial(path_);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(::send(fd, "{\"comm", 6, 0), 6);
  ::shutdown(fd, SHUT_WR);
  EXPECT_EQ(read_all(fd), "");
  ::close(fd);
}

TEST_F(Control, MoreThanSixteenConnectionsAreRefused) {
  start();
  std::vector<int> idle;
  for (int i = 0; i < 16; ++i)
    idle.push_back(dial(path_));
  const auto outcome = control_outcome(ask(path_, ""));
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, ErrorCode::busy);
  for (const int fd : idle)
    ::close(fd);
  // A place is free once the loop has seen a connection end.
  std::string answer;
  for (int i = 0; i < 200 && answer.find("heard") == std::string::npos; ++i) {
    answer = ask(path_, "{\"command\":\"status\"}\n");
    ::usleep(10'000);
  }
  EXPECT_NE(answer.find("heard"), std::string::npos);
}

TEST_F(Control, TheFileIsProtectedAndRemoved) {
  const mode_t before = ::umask(0);
  start();
  ::umask(before);
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_TRUE(S_ISSOCK(status.st_mode));
  EXPECT_EQ(status.st_mode & 0777U, 0660U);
  stop();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(Control, StoppingEndsOpenConnections) {
  start();
  const int fd = dial(path_);
  ASSERT_GE(fd, 0);
  EXPECT_NE(ask(path_, "{\"command\":\"status\"}\n"), "");  // the one before it was accepted
  stop();
  EXPECT_EQ(read_all(fd), "");
  ::close(fd);
}

TEST_F(Control, AnotherAccountIsRefusedEvenWhereTheFileLetsItIn) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another account";
  start();
  ASSERT_EQ(::chmod(directory_.c_str(), 0755), 0);
  ASSERT_EQ(::chmod(path_.c_str(), 0666), 0);
  const auto from = [&](uid_t uid, gid_t gid, std::vector<gid_t> groups) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (::setgroups(groups.size(), groups.data()) != 0 || ::setgid(gid) != 0 || ::setuid(uid) != 0)
        ::_exit(3);
      const int fd = dial(path_);
      if (fd < 0) ::_exit(2);
      const std::string_view request = "{\"command\":\"status\"}\n";
      (void)!::send(fd, request.data(), request.size(), MSG_NOSIGNAL);
      char byte = 0;
      ::_exit(::read(fd, &byte, 1) == 1 ? 0 : 1);
    }
    int result = 0;
    ::waitpid(child, &result, 0);
    return WEXITSTATUS(result);
  };
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(from(65534, 65534, {}), 1);
  EXPECT_EQ(from(65534, status.st_gid, {}), 0);
  EXPECT_EQ(from(65534, 65534, {65533, status.st_gid}), 0);
  EXPECT_EQ(log_.count(observe::Event::control_refused), 1U);
}

TEST_F(Control, ADeadDaemonsSocketIsReplacedALiveOneIsNot) {
  {
    const int dead = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    ASSERT_EQ(::bind(dead, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ::close(dead);
  }
  start();
  const auto second = ControlSocket::listen(path_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::busy);
  EXPECT_NE(ask(path_, "{\"command\":\"status\"}\n"), "");
}

TEST_F(Control, ALaterDaemonsSocketIsLeftAlone) {
  auto first = ControlSocket::listen(path_);
  ASSERT_TRUE(first.ok());
  std::filesystem::remove(path_);
  auto second = ControlSocket::listen(path_);
  ASSERT_TRUE(second.ok());
  { const ControlSocket gone = std::move(*first); }
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(Control, PlacesThatOthersCanChangeAreRefused) {
  ASSERT_EQ(::chmod(directory_.c_str(), 0777), 0);
  EXPECT_EQ(ControlSocket::listen(path_).error().code, ErrorCode::denied);
  ASSERT_EQ(::chmod(directory_.c_str(), 0770), 0);
  EXPECT_EQ(ControlSocket::listen(path_).error().code, ErrorCode::denied);
  ASSERT_EQ(::chmod(directory_.c_str(), 0700), 0);
  std::filesystem::create_directory_symlink(directory_, directory_ + "/link");
  EXPECT_FALSE(ControlSocket::listen(directory_ + "/link/control.sock").ok());
  std::ofstream(path_) << "precious";
  EXPECT_EQ(ControlSocket::listen(path_).error().code, ErrorCode::exists);
  EXPECT_TRUE(std::filesystem::is_regular_file(path_));
  EXPECT_FALSE(ControlSocket::listen("relative.sock").ok());
  EXPECT_FALSE(ControlSocket::listen(directory_ + "/" + std::string(120, 'x')).ok());
  EXPECT_FALSE(ControlSocket::listen(directory_ + "/a/b/control.sock").ok());
  EXPECT_TRUE(ControlSocket::listen(directory_ + "/made/control.sock").ok());
  EXPECT_EQ(std::filesystem::status(directory_ + "/made").permissions() & std::filesystem::perms::others_all,
            std::filesystem::perms::none);
}

TEST(ControlProtocol, RequestsAndResponses) {
  EXPECT_EQ(control_request("status"), "{\"command\":\"status\"}");
  EXPECT_EQ(control_request("attempts", "limit", 5), "{\"command\":\"attempts\",\"limit\":5}");
  EXPECT_EQ(*control_command("{\"command\":\"x\"}"), "x");
  EXPECT_EQ(control_number("{\"limit\":5}", "limit", 1), 5);
  EXPECT_EQ(control_number("{\"limit\":\"5\"}", "limit", 1), 1);
  EXPECT_EQ(control_number("{\"limit\":18446744073709551615}", "limit", 1), INT64_MAX);
  EXPECT_EQ(control_number("x", "limit", 1), 1);
  EXPECT_EQ(*control_outcome(control_result("{\"b\":1, \"a\":2}")), "{\"b\":1, \"a\":2}");
  EXPECT_EQ(*control_outcome("{ \"ok\": true, \"result\": [1] }"), "[1]");
  const auto error = control_outcome(control_error({ErrorCode::denied, "no \"way\" \xff"}));
  ASSERT_FALSE(error.ok());
  EXPECT_EQ(error.error().code, ErrorCode::denied);
  EXPECT_TRUE(error.error().message.starts_with("no \"way\" "));
  for (const char* wrong :
       {"", "x", "[]", "{}", "{\"ok\":1}", "{\"ok\":true}", "{\"ok\":false}", "{\"ok\":false,\"error\":1}"}) {
    const auto outcome = control_outcome(wrong);
    ASSERT_FALSE(outcome.ok()) << wrong;
    EXPECT_EQ(outcome.error().code, ErrorCode::bad_response) << wrong;
  }
}

}  // namespace
}  // namespace agent::daemon
