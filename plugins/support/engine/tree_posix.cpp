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

#include "rmgr/error.hpp"
#include "support/engine/tree.hpp"

namespace plugins::engine {
namespace {

using rmgr::Error;
using rmgr::Status;

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

std::vector<std::string> names_in(int descriptor) {
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
  return names;
}

void visit_open(int descriptor, const std::string& name, TreeVisitor& visitor) {
  struct stat info {};
  if (descriptor < 0 || ::fstat(descriptor, &info) != 0) failed("read", errno);
  if (!S_ISREG(info.st_mode)) failed("read", EINVAL);
  visitor.file(name, info.st_mode, static_cast<std::uint64_t>(info.st_size), [&](std::span<char> into) {
    while (true) {
      const ssize_t count = ::read(descriptor, into.data(), into.size());
      if (count >= 0) return static_cast<std::size_t>(count);
      if (errno != EINTR) failed("read", errno);
    }
  });
}

void visit_below(int descriptor, const std::string& prefix, int depth, TreeVisitor& visitor) {
  if (depth > most_tree_depth) throw Error(Status::invalid, "The runner package is nested too deeply.");
  for (const std::string& leaf : names_in(descriptor)) {
    const std::string name = prefix + leaf;
    struct stat info {};
    if (::fstatat(descriptor, leaf.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) failed("read", errno);
    if (S_ISDIR(info.st_mode)) {
      const Open below(::openat(descriptor, leaf.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (below.get() < 0) failed("read", errno);
      visitor.directory(name + '/', info.st_mode);
      visit_below(below.get(), name + '/', depth + 1, visitor);
    } else if (S_ISREG(info.st_mode)) {
      const Open file(::openat(descriptor, leaf.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
      visit_open(file.get(), name, visitor);
    } else if (S_ISLNK(info.st_mode)) {
      std::array<char, 4096> target{};
      const ssize_t size = ::readlinkat(descriptor, leaf.c_str(), target.data(), target.size());
      if (size < 0) failed("read", errno);
      visitor.link(name, std::string(target.data(), static_cast<std::size_t>(size)));
    } else {
      throw Error(Status::invalid,
                  "The runner package holds something that is neither file, directory nor link.");
    }
  }
}

}  // namespace

void visit_tree(const std::string& directory, const std::string& prefix, TreeVisitor& visitor) {
  const Open root(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (root.get() < 0) failed("read", errno);
  visit_below(root.get(), prefix, 0, visitor);
}

void visit_file(const std::string& path, const std::string& name, TreeVisitor& visitor) {
  const Open file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  visit_open(file.get(), name, visitor);
}

}  // namespace plugins::engine
