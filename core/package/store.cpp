#include "package/store.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>

#include "crash_point.hpp"

namespace agent::package {

using domain::Error;
using domain::ErrorCode;

namespace {

constexpr std::int64_t kMaximumManifest = std::int64_t{512} << 20;
constexpr std::size_t kMaximumPackages = 10'000;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

Error untrusted(std::string_view why) {
  return Error{ErrorCode::corrupt, "the manifest of an installed runner package " + std::string(why) +
                                       "; the package is installed again"};
}

Result<void> write_file(int directory, const char* name, std::string_view text) {
  const Fd file(::openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return system_error("cannot write the manifest of a runner package", errno);
  int error = write_all(file.get(), text.data(), text.size());
  if (error == 0 && ::fsync(file.get()) != 0) error = errno;
  if (error != 0) return system_error("cannot write the manifest of a runner package", error);
  return {};
}

Result<std::string> read_protected(int directory, const char* name) {
  const Fd file = open_entry(directory, name, O_RDONLY | O_NONBLOCK);
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0) return untrusted("cannot be read");
  if (!S_ISREG(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0 ||
      info.st_nlink != 1) {
    return untrusted("could have been written by others");
  }
  if (info.st_size > kMaximumManifest) return untrusted("is too large");
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const auto got = ::read(file.get(), text.data() + have, text.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return untrusted("cannot be read");
    have += static_cast<std::size_t>(got);
  }
  return text;
}

}  // namespace

Stage::Stage(int staging, std::string name, std::string path, Fd directory)
    : staging_(staging), name_(std::move(name)), path_(std::move(path)), directory_(std::move(directory)) {}

Stage::Stage(Stage&& other) noexcept
    : staging_(other.staging_),
      name_(std::exchange(other.name_, {})),
      path_(std::move(other.path_)),
      directory_(std::move(other.directory_)) {}

Stage::~Stage() {
  // What cannot be removed now is removed at the next start.
  if (!name_.empty()) [[maybe_unused]]
    const auto removed = remove_entry(staging_, name_);
}

Result<Store> Store::open(const std::string& root) {
  std::string path = root;
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  const auto slash = path.rfind('/');
  if (path.empty() || path.front() != '/' || slash + 1 >= path.size()) {
    return Error{ErrorCode::invalid,
                 "the package cache must be named by an absolute path, not '" + root + "'"};
  }
  const auto parent = open_directory(slash == 0 ? "/" : path.substr(0, slash));
  if (!parent) return parent.error();
  const auto home = make_directory(parent->get(), path.substr(slash + 1), 0700);
  if (!home) return home.error();
  Store store;
  store.root_ = path;
  for (auto [fd, name] : {std::pair{&store.packages_, "packages"}, std::pair{&store.staging_, "staging"}}) {
    auto made = make_directory(home->get(), name, 0700);
    if (!made) return made.error();
    *fd = std::move(*made);
  }
  auto cleared = remove_content(store.staging_.get());
  if (!cleared) return cleared.error();
  return store;
}

Result<Stage> Store::stage() const {
  auto name = random_name();
  if (::mkdirat(staging_.get(), name.c_str(), 0700) != 0) {
    return system_error("cannot make a directory of the package cache", errno);
  }
  Fd directory = open_entry(staging_.get(), name.c_str(), O_RDONLY | O_DIRECTORY);
  if (!directory) return system_error("cannot open a directory of the package cache", errno);
  auto path = root_ + "/staging/" + name;
  return Stage(staging_.get(), std::move(name), std::move(path), std::move(directory));
}

Result<void> Store::commit(Stage stage, const Manifest& manifest) const {
  auto written = write_file(stage.directory(), "manifest", encode(manifest));
  if (!written) return written;
  if (::fsync(stage.directory()) != 0) return system_error("cannot install a runner package", errno);
  RMGR_CRASH_POINT("package.install.before_rename");
  if (::renameat2(staging_.get(), stage.name_.c_str(), packages_.get(), manifest.digest.str().c_str(),
                  RENAME_NOREPLACE) != 0) {
    if (errno == EEXIST) return Error{ErrorCode::exists, "this runner package is installed already"};
    return system_error("cannot install a runner package", errno);
  }
  stage.name_.clear();
  RMGR_CRASH_POINT("package.install.renamed");
  if (::fsync(packages_.get()) != 0) return system_error("cannot install a runner package", errno);
  return {};
}

Result<std::vector<std::string>> Store::names() const {
  Fd copy(::openat(packages_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, CloseDirectory> stream(copy ? ::fdopendir(copy.get()) : nullptr);
  if (!stream) return system_error("cannot list the package cache", errno);
  [[maybe_unused]] const int owned_by_stream = copy.release();
  std::vector<std::string> names;
  for (errno = 0; const dirent* item = ::readdir(stream.get()); errno = 0) {
    const std::string_view name = item->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() >= kMaximumPackages) break;
    names.emplace_back(name);
  }
  if (errno != 0) return system_error("cannot list the package cache", errno);
  return names;
}

Result<Fd> Store::tree(const PackageDigest& digest) const {
  const Fd package = open_entry(packages_.get(), digest.str().c_str(), O_RDONLY | O_DIRECTORY);
  Fd tree = package ? open_entry(package.get(), "tree", O_RDONLY | O_DIRECTORY) : Fd();
  if (tree) return tree;
  if (errno == ENOENT) return Error{ErrorCode::not_found, "this runner package is not installed"};
  return system_error("cannot open an installed runner package", errno);
}

Result<Manifest> Store::manifest(const PackageDigest& digest, std::int64_t max_entries) const {
  const Fd package = open_entry(packages_.get(), digest.str().c_str(), O_RDONLY | O_DIRECTORY);
  struct stat info {};
  if (!package || ::fstat(package.get(), &info) != 0 || info.st_uid != ::geteuid() ||
      (info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return untrusted("is in a directory that others could have written to");
  }
  const auto text = read_protected(package.get(), "manifest");
  if (!text) return text.error();
  auto manifest = decode(*text, max_entries);
  if (manifest && manifest->digest != digest) return untrusted("is that of another package");
  return manifest;
}

Result<void> Store::discard(const std::string& name) const {
  const auto aside = random_name();
  if (::renameat(packages_.get(), name.c_str(), staging_.get(), aside.c_str()) != 0) {
    if (errno == ENOENT) return {};
    return system_error("cannot remove an installed runner package", errno);
  }
  return remove_entry(staging_.get(), aside);
}

}  // namespace agent::package
