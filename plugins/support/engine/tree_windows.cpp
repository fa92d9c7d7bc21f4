#include <windows.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "rmgr/error.hpp"
#include "support/engine/tree.hpp"

namespace plugins::engine {
namespace {

namespace fs = std::filesystem;
using rmgr::Error;
using rmgr::Status;

// In a container of Windows nobody looks at it.
constexpr std::uint32_t mode = 0755;

[[noreturn]] void failed(const char* what, unsigned long code) {
  throw Error(code == ERROR_TOO_MANY_OPEN_FILES || code == ERROR_IO_DEVICE ? Status::retry : Status::invalid,
              std::string("The runner package cannot be ") + what + " (error " + std::to_string(code) + ").");
}

class Open {
 public:
  // What is at `path` itself: a link is opened and not followed unless `follow`.
  Open(const fs::path& path, bool follow)
      : handle_(::CreateFileW(path.c_str(), GENERIC_READ, FILE_SHARE_READ, nullptr, OPEN_EXISTING,
                              FILE_FLAG_SEQUENTIAL_SCAN | (follow ? 0U : FILE_FLAG_OPEN_REPARSE_POINT),
                              nullptr)) {
    if (handle_ == INVALID_HANDLE_VALUE) failed("read", ::GetLastError());
  }
  ~Open() { ::CloseHandle(handle_); }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;
  [[nodiscard]] HANDLE get() const { return handle_; }

 private:
  HANDLE handle_;
};

std::string utf8(const fs::path& path) {
  const auto text = path.generic_u8string();
  return {text.begin(), text.end()};
}

void visit_open(const fs::path& path, bool follow, const std::string& name, TreeVisitor& visitor) {
  const Open file(path, follow);
  BY_HANDLE_FILE_INFORMATION info{};
  if (::GetFileInformationByHandle(file.get(), &info) == 0) failed("read", ::GetLastError());
  if ((info.dwFileAttributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT)) != 0)
    throw Error(Status::invalid, "The runner package holds a link where a file is expected.");
  const std::uint64_t size = std::uint64_t{info.nFileSizeHigh} << 32U | info.nFileSizeLow;
  visitor.file(name, mode, size, [&](std::span<char> into) {
    DWORD count = 0;
    if (::ReadFile(file.get(), into.data(), static_cast<DWORD>(into.size()), &count, nullptr) == 0)
      failed("read", ::GetLastError());
    return std::size_t{count};
  });
}

void visit_below(const fs::path& directory, const std::string& prefix, int depth, TreeVisitor& visitor) {
  if (depth > most_tree_depth) throw Error(Status::invalid, "The runner package is nested too deeply.");
  std::error_code failure;
  std::vector<fs::path> paths;
  for (fs::directory_iterator it(directory, failure), end; !failure && it != end; it.increment(failure))
    paths.push_back(it->path());
  if (failure) failed("listed", static_cast<unsigned long>(failure.value()));
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths) {
    const std::string name = prefix + utf8(path.filename());
    const DWORD attributes = ::GetFileAttributesW(path.c_str());
    if (attributes == INVALID_FILE_ATTRIBUTES) failed("read", ::GetLastError());
    // A junction or a link could lead out of the package.
    if ((attributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0)
      throw Error(Status::invalid, "The runner package holds a link, which packages for Windows do not.");
    if ((attributes & FILE_ATTRIBUTE_DIRECTORY) != 0) {
      visitor.directory(name + '/', mode);
      visit_below(path, name + '/', depth + 1, visitor);
    } else {
      visit_open(path, false, name, visitor);
    }
  }
}

fs::path path_of(const std::string& text) { return fs::path(std::u8string(text.begin(), text.end())); }

}  // namespace

void visit_tree(const std::string& directory, const std::string& prefix, TreeVisitor& visitor) {
  visit_below(path_of(directory), prefix, 0, visitor);
}

void visit_file(const std::string& path, const std::string& name, TreeVisitor& visitor) {
  visit_open(path_of(path), true, name, visitor);
}

}  // namespace plugins::engine
