// A range of job accounts that one test has for itself. The clean-up of an attempt ends whatever runs under
// its account, so tests that run side by side, also those of another build on the same machine, must not
// share one.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

namespace testkit {

class AccountRange {
 public:
  static constexpr std::uint32_t count = 64;

  AccountRange() : first_(take()) {}
  ~AccountRange() { ::close(claim_); }
  AccountRange(const AccountRange&) = delete;
  AccountRange& operator=(const AccountRange&) = delete;

  [[nodiscard]] std::uint32_t first() const { return first_; }
  // The native provider's configuration with the first `accounts` of the range as its pool. `more` begins
  // with a comma. Tests and their jobs talk through files below /tmp, which is therefore not private.
  [[nodiscard]] std::string pool(std::uint32_t accounts = count, const std::string& more = "") const {
    const std::string shared =
        more.find("private_tmp") == std::string::npos ? R"(, "private_tmp": false)" : "";
    return R"({"run_as": {"uid_range": {"first": )" + std::to_string(first_) + R"(, "count": )" +
           std::to_string(accounts) + "}}" + more + shared + "}";
  }

 private:
  // An abstract socket's name is a claim that ends with its process, whatever ends it, and leaves no file.
  std::uint32_t take() {
    constexpr std::uint32_t lowest = 100'000, ranges = 5'000;
    const std::uint32_t start = static_cast<std::uint32_t>(::getpid()) % ranges;
    for (std::uint32_t tried = 0; tried < ranges; ++tried) {
      const std::uint32_t first = lowest + (start + tried) % ranges * count;
      const std::string name = "rmgr-test-accounts-" + std::to_string(first);
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      std::memcpy(&address.sun_path[1], name.data(), name.size());
      claim_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
      const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
      if (claim_ >= 0 && ::bind(claim_, reinterpret_cast<const sockaddr*>(&address), length) == 0)
        return first;
      ::close(claim_);
    }
    throw std::runtime_error("no range of job accounts is free for this test");
  }

  int claim_ = -1;
  std::uint32_t first_;
};

}  // namespace testkit
