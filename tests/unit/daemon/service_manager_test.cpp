#include "daemon/service_manager.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#include "support/temporary.hpp"

namespace agent::daemon {
namespace {

// The service manager's end.
class Listener {
 public:
  explicit Listener(const std::string& name) : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name.front() == '@') address.sun_path[0] = '\0';
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), length), 0) << std::strerror(errno);
  }
  ~Listener() { ::close(fd_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  std::string next() const {
    char line[256];
    const auto size = ::recv(fd_, line, sizeof line, MSG_DONTWAIT);
    return size < 0 ? "" : std::string(line, static_cast<std::size_t>(size));
  }

 private:
  int fd_;
};

class ServiceManagerTest : public ::testing::Test {
 protected:
  ~ServiceManagerTest() override {
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"})
      ::unsetenv(name);
  }
};

TEST_F(ServiceManagerTest, IsToldWhatHappens) {
  const testkit::TemporaryDirectory directory;
  const std::string path = directory / "notify";
  const Listener listener(path);
  const ServiceManager manager(path, domain::Millis{0});
  manager.ready();
  manager.alive();
  manager.stopping();
  EXPECT_EQ(listener.next(), "READY=1");
  EXPECT_EQ(listener.next(), "WATCHDOG=1");
  EXPECT_EQ(listener.next(), "STOPPING=1");
}

TEST_F(ServiceManagerTest, MayListenOnAnAbstractName) {
  const std::string name = "@rmgr-notify-" + std::to_string(::getpid());
  const Listener listener(name);
  ServiceManager(name, domain::Millis{0}).ready();
  EXPECT_EQ(listener.next(), "READY=1");
}

TEST_F(ServiceManagerTest, IsFoundInTheEnvironmentWhichKeepsNothingOfIt) {
  const testkit::TemporaryDirectory directory;
  const std::string path = directory / "notify";
  const Listener listener(path);
  ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
  ::setenv("WATCHDOG_USEC", "30000000", 1);
  ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
  const auto manager = ServiceManager::from_environment();
  EXPECT_EQ(manager.alive_every(), domain::Millis{10'000});
  for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"})
    EXPECT_EQ(::getenv(name), nullptr) << name;
  manager.ready();
  EXPECT_EQ(listener.next(), "READY=1");
}

TEST_F(ServiceManagerTest, WatchesThisProcessOnly) {
  ::setenv("WATCHDOG_USEC", "30000000", 1);
  ::setenv("WATCHDOG_PID", "1", 1);
  EXPECT_EQ(ServiceManager::from_environment().alive_every(), domain::Millis{0});
}

TEST_F(ServiceManagerTest, ThatIsNotThereIsNotMissed) {
  ServiceManager("", domain::Millis{0}).ready();
  ServiceManager("/nowhere/at/all", domain::Millis{0}).ready();
  ServiceManager(std::string(300, '/'), domain::Millis{0}).ready();
  ::setenv("WATCHDOG_USEC", "soon", 1);
  EXPECT_EQ(ServiceManager::from_environment().alive_every(), domain::Millis{0});
}

}  // namespace
}  // namespace agent::daemon
