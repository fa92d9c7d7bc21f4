// Files of one directory, opened so that nobody but its owner can have chosen them.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plugins::mirror {

// An open descriptor. Move-only.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

struct File {
  Descriptor descriptor;
  struct stat status {};

  // Changes whenever the file does.
  [[nodiscard]] std::string validator() const;
};

// Every function throws rmgr::Error: `unreachable` if the directory is not there, `denied` if it, or a file,
// is a link, belongs to another account than ours or root's, or can be written by others.
class Directory {
 public:
  explicit Directory(std::string path) : path_(std::move(path)) {}

  // The names in it, at most 10,000, in order.
  [[nodiscard]] std::vector<std::string> names() const;
  // Nothing if there is no such file.
  [[nodiscard]] std::optional<File> open(const std::string& name) const;
  // The file's text; nothing if there is no such file or it is longer than `most`.
  [[nodiscard]] std::optional<std::string> read(const std::string& name, std::size_t most) const;

 private:
  [[nodiscard]] Descriptor open_directory() const;
  std::string path_;
};

}  // namespace plugins::mirror
