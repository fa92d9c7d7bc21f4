#include <windows.h>

#include <algorithm>

#include "support/engine/transport.hpp"
#include "support/engine/windows_error.hpp"

namespace plugins::engine {
namespace {

using std::chrono::milliseconds;

// While every instance of a pipe is taken it is asked again.
constexpr milliseconds busy_pause{20};

class Handle {
 public:
  explicit Handle(HANDLE handle) : handle_(handle) {}
  ~Handle() {
    if (handle_ != nullptr && handle_ != INVALID_HANDLE_VALUE) ::CloseHandle(handle_);
  }
  Handle(Handle&& other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  Handle& operator=(Handle&&) = delete;
  [[nodiscard]] HANDLE get() const { return handle_; }

 private:
  HANDLE handle_;
};

// One read or write at a time. It is over, one way or the other, before the buffer and this object are.
class Overlap {
 public:
  explicit Overlap(HANDLE pipe) : pipe_(pipe), event_(::CreateEventW(nullptr, TRUE, FALSE, nullptr)) {
    if (event_.get() == nullptr) throw rmgr::Error(rmgr::Status::retry, "No event is free to wait with.");
    overlapped_.hEvent = event_.get();
  }
  OVERLAPPED* get() { return &overlapped_; }

  // ERROR_SUCCESS or what became of it; `count` is set with success.
  DWORD finish(bool begun, DWORD failure, DWORD& count, const Waiter& waiter) {
    if (!begun && failure != ERROR_IO_PENDING) return failure;
    try {
      waiter.ready(event_.get());
    } catch (...) {
      ::CancelIoEx(pipe_, &overlapped_);
      ::GetOverlappedResult(pipe_, &overlapped_, &count, TRUE);
      throw;
    }
    return ::GetOverlappedResult(pipe_, &overlapped_, &count, TRUE) != 0 ? ERROR_SUCCESS : ::GetLastError();
  }

 private:
  HANDLE pipe_;
  Handle event_;
  OVERLAPPED overlapped_{};
};

class PipeStream final : public Stream {
 public:
  PipeStream(Handle pipe, bool messages) : pipe_(std::move(pipe)), messages_(messages) {}

  // A message of no bytes is how the other side says that it has finished writing.
  std::size_t read_some(std::span<char> into, const Waiter& waiter) override {
    if (ended_) return 0;
    Overlap overlap(pipe_.get());
    DWORD count = 0;
    const bool begun =
        ::ReadFile(pipe_.get(), into.data(), static_cast<DWORD>(into.size()), nullptr, overlap.get()) != 0;
    const DWORD code = overlap.finish(begun, begun ? ERROR_SUCCESS : ::GetLastError(), count, waiter);
    if (code == ERROR_BROKEN_PIPE || code == ERROR_PIPE_NOT_CONNECTED) count = 0;
    // The rest of a message that is longer than the buffer comes with the next read.
    else if (code != ERROR_SUCCESS && code != ERROR_MORE_DATA)
      throw broken(code);
    ended_ = count == 0;
    return count;
  }

  void write_all(std::string_view bytes, const Waiter& waiter) override {
    constexpr std::size_t most = std::size_t{64} << 10;
    while (!bytes.empty())
      bytes.remove_prefix(write(bytes.substr(0, most), waiter));
  }

  void finish_writing(const Waiter& waiter) override {
    if (!messages_) {
      throw rmgr::Error(rmgr::Status::unsupported,
                        "The container engine's pipe cannot say that input has ended; use a Docker engine.");
    }
    write({}, waiter);
  }

 private:
  std::size_t write(std::string_view bytes, const Waiter& waiter) {
    Overlap overlap(pipe_.get());
    DWORD count = 0;
    const bool begun =
        ::WriteFile(pipe_.get(), bytes.data(), static_cast<DWORD>(bytes.size()), nullptr, overlap.get()) != 0;
    const DWORD code = overlap.finish(begun, begun ? ERROR_SUCCESS : ::GetLastError(), count, waiter);
    if (code != ERROR_SUCCESS) throw broken(code);
    return count;
  }

  Handle pipe_;
  bool messages_;
  bool ended_ = false;
};

std::wstring path_of(const Address& address) {
  std::wstring path(address.path.begin(), address.path.end());  // ASCII, as parse_address accepts it
  std::replace(path.begin(), path.end(), L'/', L'\\');
  return path;
}

}  // namespace

std::unique_ptr<Stream> open_pipe(const Address& address, const Waiter& waiter) {
  const std::wstring path = path_of(address);
  while (true) {
    // The server may know who asks and not act as it: a stranger's pipe of that name gains nothing.
    Handle pipe(::CreateFileW(path.c_str(), GENERIC_READ | GENERIC_WRITE, 0, nullptr, OPEN_EXISTING,
                              FILE_FLAG_OVERLAPPED | SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION,
                              nullptr));
    if (pipe.get() != INVALID_HANDLE_VALUE) {
      DWORD flags = 0;
      if (::GetNamedPipeInfo(pipe.get(), &flags, nullptr, nullptr, nullptr) == 0)
        throw no_connection(address, ::GetLastError());
      return std::make_unique<PipeStream>(std::move(pipe), (flags & PIPE_TYPE_MESSAGE) != 0);
    }
    const DWORD code = ::GetLastError();
    if (code != ERROR_PIPE_BUSY) throw no_connection(address, code);
    waiter.pause(busy_pause);
  }
}

std::unique_ptr<Stream> open_unix(const Address& address, const Waiter& /*waiter*/) {
  throw rmgr::Error(rmgr::Status::unsupported, "The container engine's address " + address.text() +
                                                   " is not one of Windows; use npipe: or tcp:.");
}

}  // namespace plugins::engine
