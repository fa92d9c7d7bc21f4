#include "hostile/job/report.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace hostile {
namespace {

int report = -1;

void send_line(const std::string& line) {
  const std::string whole = line + '\n';
  if (::send(report, whole.data(), whole.size(), MSG_NOSIGNAL) < 0) std::_Exit(70);
}

}  // namespace

void open_report(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  report = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (report < 0 || ::connect(report, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    std::_Exit(71);
}

void note(const std::string& text) { send_line("note " + text); }

void tried(const std::string& what, bool done) {
  const int why = errno;
  send_line(done ? "DONE " + what : "denied " + what + ": " + std::strerror(why));
}

void tried_apart(const std::string& what, const std::function<bool()>& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    errno = 0;
    tried(what, act());
    std::_Exit(0);
  }
  if (child < 0) return tried(what, false);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status))
    send_line("denied " + what + ": ended by signal " + std::to_string(WTERMSIG(status)));
}

}  // namespace hostile
