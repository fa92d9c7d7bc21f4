// rmgr-unpack ARCHIVE DESTINATION ENTRIES BYTES RATIO ACCOUNT
//
// Unpacks one archive, as an account without rights and with limits, and says in one line and its exit code
// how that went. What it leaves is still examined by whoever started it.
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <exception>
#include <optional>
#include <string_view>

#include "package/archive.hpp"
#include "package/child.hpp"
#include "package/files.hpp"

namespace {

using agent::domain::ErrorCode;
namespace package = agent::package;

std::optional<std::int64_t> positive(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value <= 0) return std::nullopt;
  return value;
}

bool limit(__rlimit_resource what, rlim_t value) {
  rlimit both{};
  if (::getrlimit(what, &both) != 0) return false;
  if (both.rlim_max < value) value = both.rlim_max;
  both = {value, value};
  return ::setrlimit(what, &both) == 0;
}

bool give_up_rights(std::int64_t account, std::int64_t bytes) {
  ::umask(0077);
  ::signal(SIGXFSZ, SIG_IGN);  // a file that grows too large is an error like others
  if (!limit(RLIMIT_CPU, 600) || !limit(RLIMIT_FSIZE, static_cast<rlim_t>(bytes)) ||
      !limit(RLIMIT_NOFILE, 64) || !limit(RLIMIT_CORE, 0)) {
    return false;
  }
  if (::geteuid() == 0) {
    const auto id = static_cast<uid_t>(account);
    if (::setgroups(0, nullptr) != 0 || ::setresgid(id, id, id) != 0 || ::setresuid(id, id, id) != 0)
      return false;
    if (::geteuid() != id || ::setuid(0) == 0) return false;
  }
  // Unpacking needs no other process, so none can outlive this one.
  return limit(RLIMIT_NPROC, 0) && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0;
}

int failed(ErrorCode code) {
  std::puts(code == ErrorCode::full ? "failed full" : "failed retry");
  return package::kUnpackFailed;
}

int run(int argc, char** argv) {
  if (argc != 7) return package::kUnpackUsage;
  const auto entries = positive(argv[3]);
  const auto bytes = positive(argv[4]);
  const auto ratio = positive(argv[5]);
  const auto account = positive(argv[6]);
  if (!entries || !bytes || !ratio || !account || *account > 0x7FFFFFFF) return package::kUnpackUsage;
  // Opened first: the account that follows can reach neither by name.
  const package::Fd archive(::open(argv[1], O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  const auto destination = package::open_directory(argv[2]);
  if (!archive || !destination || !give_up_rights(*account, *bytes)) return failed(ErrorCode::retry);
  package::UnpackLimits limits;
  limits.entries = *entries;
  limits.bytes = *bytes;
  limits.ratio = *ratio;
  const auto unpacked = package::unpack(archive.get(), destination->get(), limits, {});
  if (unpacked) {
    std::printf("unpacked %lld %lld\n", static_cast<long long>(unpacked->entries),
                static_cast<long long>(unpacked->bytes));
    return 0;
  }
  if (unpacked.error().code != ErrorCode::invalid) return failed(unpacked.error().code);
  const std::string_view message = unpacked.error().message;
  std::printf("unsafe %s\n", message.substr(message.rfind(' ') + 1).data());
  return package::kUnpackUnsafe;
}

}  // namespace

int main(int argc, char** argv) {
  int code = package::kUnpackFailed;
  try {
    code = run(argc, argv);
  } catch (const std::exception&) {
    code = failed(ErrorCode::retry);
  }
  // Without exit handlers: some (those of leak checkers) start a process, which is not allowed any more.
  std::fflush(stdout);
  ::_exit(code);
}
