#include "support/engine/tar.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

namespace plugins::engine {
namespace {

using rmgr::Error;
using rmgr::Status;

constexpr std::size_t block = 512;
constexpr int most_depth = 64;
constexpr std::size_t most_entries = 500'000;

[[noreturn]] void failed(const char* what, int number) {
  throw Error(number == ENOSPC || number == EMFILE || number == EIO ? Status::retry : Status::invalid,
              std::string("The runner package cannot be ") + what + ": " + std::strerror(number) + ".");
}

class Open {
 public:
  explicit Open(int number) : number_(number) {}
  ~Open() {
    if (number_ >= 0) ::close(number_);
  }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;
  [[nodiscard]] int get() const { return number_; }

 private:
  int number_;
};

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

// A field of N bytes: octal digits, and a zero behind them.
template <std::size_t N>
void octal(std::array<char, block>& header, std::size_t at, std::uint64_t value) {
  for (std::size_t digit = N - 1; digit-- > 0; value /= 8)
    header[at + digit] = static_cast<char>('0' + value % 8);
  header[at + N - 1] = '\0';
}

std::string record(const std::string& key, const std::string& value) {
  const std::size_t rest = key.size() + value.size() + 3;  // a space, the sign and the end of the line
  std::size_t size = rest + 1;
  while (std::to_string(size).size() + rest != size)
    size = std::to_string(size).size() + rest;
  return std::to_string(size) + ' ' + key + '=' + value + '\n';
}

class Archive {
 public:
  Archive(const rmgr::Call& call, const TarOptions& options, const Emit& emit)
      : call_(call), options_(options), emit_(emit) {}

  void directory(int descriptor, const std::string& name, int depth) {
    if (depth > most_depth) throw Error(Status::invalid, "The runner package is nested too deeply.");
    const int again = ::openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (again < 0) failed("listed", errno);
    const std::unique_ptr<DIR, CloseDirectory> listing(::fdopendir(again));
    if (!listing) {
      ::close(again);
      failed("listed", errno);
    }
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(listing.get())) {
      const std::string_view each = entry->d_name;
      if (each != "." && each != "..") names.emplace_back(each);
    }
    std::sort(names.begin(), names.end());
    for (const std::string& each : names)
      one(descriptor, each, name + each, depth);
  }

  void head(const std::string& name, char type, mode_t mode, std::uint64_t size, const std::string& target) {
    if (++entries_ > most_entries) throw Error(Status::invalid, "The runner package holds too many files.");
    std::string extra;
    if (name.size() > 100) extra += record("path", name);
    if (target.size() > 100) extra += record("linkpath", target);
    if (!extra.empty()) {
      raw("rmgr-pax", 'x', 0644, extra.size(), "");
      content(extra);
    }
    raw(name, type, mode, size, target);
  }

  void end() { emit_(std::string(2 * block, '\0')); }

 private:
  void raw(const std::string& name, char type, mode_t mode, std::uint64_t size, const std::string& target) {
    std::array<char, block> header{};
    std::memcpy(header.data(), name.data(), std::min<std::size_t>(name.size(), 100));
    octal<8>(header, 100, mode & 07777U);
    octal<8>(header, 108, options_.uid);
    octal<8>(header, 116, options_.gid);
    octal<12>(header, 124, size);
    octal<12>(header, 136, 0);
    header[156] = type;
    std::memcpy(header.data() + 157, target.data(), std::min<std::size_t>(target.size(), 100));
    std::memcpy(header.data() + 257,
                "ustar\0"
                "00",
                8);
    std::memset(header.data() + 148, ' ', 8);
    unsigned sum = 0;
    for (const char c : header)
      sum += static_cast<unsigned char>(c);
    octal<7>(header, 148, sum);
    emit_({header.data(), header.size()});
  }

  void content(std::string text) {
    text.resize((text.size() + block - 1) / block * block);
    emit_(text);
  }

  void one(int directory_descriptor, const std::string& leaf, const std::string& name, int depth) {
    call_.check();
    struct stat info {};
    if (::fstatat(directory_descriptor, leaf.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) failed("read", errno);
    if (S_ISDIR(info.st_mode)) {
      const Open below(
          ::openat(directory_descriptor, leaf.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (below.get() < 0) failed("read", errno);
      head(name + '/', '5', info.st_mode, 0, "");
      directory(below.get(), name + '/', depth + 1);
    } else if (S_ISREG(info.st_mode)) {
      const Open file(
          ::openat(directory_descriptor, leaf.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
      if (file.get() < 0 || ::fstat(file.get(), &info) != 0) failed("read", errno);
      this->file(file.get(), name, info);
    } else if (S_ISLNK(info.st_mode)) {
      std::array<char, 4096> target{};
      const ssize_t size = ::readlinkat(directory_descriptor, leaf.c_str(), target.data(), target.size());
      if (size < 0) failed("read", errno);
      head(name, '2', 0777, 0, std::string(target.data(), static_cast<std::size_t>(size)));
    } else {
      throw Error(Status::invalid,
                  "The runner package holds something that is neither file, directory nor link.");
    }
  }

  void file(int descriptor, const std::string& name, const struct stat& info) {
    if (!S_ISREG(info.st_mode)) failed("read", EINVAL);
    auto left = static_cast<std::uint64_t>(info.st_size);
    head(name, '0', info.st_mode, left, "");
    std::vector<char> buffer(std::size_t{256} << 10);
    while (left > 0) {
      call_.check();
      const ssize_t count = ::read(descriptor, buffer.data(), std::min<std::uint64_t>(left, buffer.size()));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) failed("read", errno);
      if (count == 0)
        throw Error(Status::retry, "A file of the runner package became shorter while it was read.");
      emit_({buffer.data(), static_cast<std::size_t>(count)});
      left -= static_cast<std::uint64_t>(count);
    }
    const auto over = static_cast<std::size_t>(info.st_size) % block;
    if (over != 0) emit_(std::string(block - over, '\0'));
  }

  const rmgr::Call& call_;
  const TarOptions& options_;
  const Emit& emit_;
  std::size_t entries_ = 0;
};

}  // namespace

void write_tar(const rmgr::Call& call, const std::string& directory, const TarOptions& options,
               const Emit& emit) {
  const Open root(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (root.get() < 0) failed("read", errno);
  Archive archive(call, options, emit);
  std::string prefix;
  if (!options.prefix.empty()) {
    prefix = options.prefix + '/';
    archive.head(prefix, '5', 0755, 0, "");
  }
  archive.directory(root.get(), prefix, 0);
  archive.end();
}

bool TarNames::take(std::string_view bytes) {
  while (!bytes.empty() && !complete_) {
    if (skip_ > 0) {
      const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(skip_, bytes.size()));
      skip_ -= part;
      bytes.remove_prefix(part);
      continue;
    }
    const std::size_t part = std::min(block - header_.size(), bytes.size());
    header_.append(bytes.substr(0, part));
    bytes.remove_prefix(part);
    if (header_.size() < block) continue;
    const bool more = read_header();
    header_.clear();
    if (!more) return false;
  }
  return !complete_;
}

bool TarNames::read_header() {
  if (header_.find_first_not_of('\0') == std::string::npos) {
    complete_ = true;
    return false;
  }
  std::uint64_t size = 0;
  for (std::size_t at = 124; at < 135 && header_[at] >= '0' && header_[at] <= '7'; ++at)
    size = size * 8 + static_cast<std::uint64_t>(header_[at] - '0');
  if (header_.compare(257, 5, "ustar") != 0) return false;
  skip_ = (size + block - 1) / block * block;
  const char type = header_[156];
  if (type != '0' && type != '\0') return true;
  return seen_(header_.substr(0, std::min<std::size_t>(header_.find('\0'), 100)));
}

}  // namespace plugins::engine
