// Small pieces of input and output for the shim: no allocation, every failure is an errno.
#pragma once

#include <cstddef>
#include <cstdint>

#include "process/protocol.hpp"

namespace agent::process::shim {

std::int64_t boot_ms();  // since boot, suspend included
std::int64_t wall_ms();  // since 1970

// 0, or the errno of the failure.
int write_all(int fd, const void* bytes, std::size_t size);
// Writes a new file of `size` bytes under `directory`, durable when it returns 0.
int write_file(int directory, const char* draft, const char* name, const char* bytes, std::size_t size);
// Reads at most `capacity` - 1 bytes of a small file and ends them with a zero; the length, or -1.
std::ptrdiff_t read_file(int directory, const char* name, char* bytes, std::size_t capacity);

// Sends one frame without ever blocking for long or raising SIGPIPE; a host that is gone is no failure.
void send_frame(int gate, wire::Kind kind, const void* payload, std::size_t size);

enum class Read { done, closed, timeout, signalled, invalid };
// Reads one frame of `kind` into `payload`. Gives up at `deadline` (boot_ms) or when a signal asks for the
// end.
Read read_frame(int gate, int signals, std::int64_t deadline, wire::Kind kind, char* payload,
                std::size_t capacity, std::size_t& size);

}  // namespace agent::process::shim
