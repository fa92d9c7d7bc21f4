#include "daemon/entropy.hpp"

#include <sys/random.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>

namespace agent::daemon {

namespace {

void fill_random(void* bytes, std::size_t size) {
  // Up to 256 bytes come whole once the kernel's pool is seeded; an agent without randomness must not mint
  // ids.
  if (::getrandom(bytes, size, 0) != static_cast<ssize_t>(size)) std::abort();
}

std::int64_t clock_ms(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1000 + time.tv_nsec / 1'000'000;
}

}  // namespace

std::string random_hex(std::size_t digits) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  while (text.size() < digits) {
    std::array<unsigned char, 16> bytes{};
    fill_random(bytes.data(), bytes.size());
    for (const unsigned char byte : bytes) {
      if (text.size() < digits) text.push_back(kDigits[byte & 15U]);
      if (text.size() < digits) text.push_back(kDigits[byte >> 4U]);
    }
  }
  return text;
}

std::string random_uuid() {
  std::string hex = random_hex(32);
  hex[12] = '4';
  static constexpr std::string_view kVariant = "89ab";
  hex[16] = kVariant[static_cast<unsigned char>(hex[16]) & 3U];
  return hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-" + hex.substr(12, 4) + "-" + hex.substr(16, 4) + "-" +
         hex.substr(20);
}

double random_unit() {
  std::uint32_t bits = 0;
  fill_random(&bits, sizeof bits);
  return static_cast<double>(bits) / 4294967296.0;
}

domain::Instant instant_now(const domain::BootId& boot) {
  return {.wall_ms = clock_ms(CLOCK_REALTIME), .boot_ms = clock_ms(CLOCK_BOOTTIME), .boot_id = boot};
}

std::string machine_id() {
  for (const char* path : {"/etc/machine-id", "/var/lib/dbus/machine-id"}) {
    std::ifstream file(path);
    std::string id;
    if (file >> id && !id.empty() && id.size() <= 64) return id;
  }
  return "no-machine-id";
}

}  // namespace agent::daemon
