// kv: one file for each key, named by the key's bytes in hexadecimal digits.
#include <filesystem>
#include <fstream>

#include "conform/files.hpp"
#include "conform/host.hpp"
#include "conform/json.hpp"

namespace rmgr::conform {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_bytes = 65536;
constexpr std::string_view digits = "0123456789abcdef";

Host& of(void* ctx) { return *static_cast<Host*>(ctx); }

std::string hex(std::string_view key) {
  std::string out;
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    out += digits[byte >> 4U];
    out += digits[byte & 15U];
  }
  return out;
}

std::string unhex(const std::string& name) {
  std::string out;
  for (std::size_t i = 0; i + 1 < name.size(); i += 2)
    out += static_cast<char>(digits.find(name[i]) * 16 + digits.find(name[i + 1]));
  return out;
}

fs::path folder(void* ctx) {
  const fs::path path = of(ctx).directory() + "/kv";
  std::error_code ignored;
  fs::create_directory(path, ignored);
  return path;
}

bool usable(rmgr_str key) { return key.size > 0 && key.size <= 128 && is_utf8(from_abi(key)); }

template <class Fn>
rmgr_status guarded(void* ctx, Fn&& fn) noexcept {
  try {
    const rmgr_status broken = of(ctx).use("kv");
    return broken == RMGR_OK ? fn(folder(ctx)) : broken;
  } catch (const std::exception&) {
    return RMGR_E_RETRY;
  }
}

rmgr_status RMGR_CALL get(void* ctx, rmgr_str key, const rmgr_text_sink* value) noexcept {
  return guarded(ctx, [&](const fs::path& path) -> rmgr_status {
    if (!usable(key)) return RMGR_E_INVALID;
    const auto text = read_file((path / hex(from_abi(key))).string());
    return text ? value->write(value->ctx, to_abi(*text)) : RMGR_E_NOT_FOUND;
  });
}

rmgr_status RMGR_CALL put(void* ctx, rmgr_str key, rmgr_str value) noexcept {
  return guarded(ctx, [&](const fs::path& path) -> rmgr_status {
    if (!usable(key) || !is_utf8(from_abi(value))) return RMGR_E_INVALID;
    std::size_t total = key.size + value.size;
    for (const auto& entry : fs::directory_iterator(path)) {
      if (entry.path().filename() != hex(from_abi(key)))
        total += entry.file_size() + entry.path().filename().string().size() / 2;
    }
    if (total > most_bytes) return RMGR_E_INVALID;
    const fs::path fresh = path.string() + ".new";
    std::ofstream(fresh, std::ios::binary) << from_abi(value);
    fs::rename(fresh, path / hex(from_abi(key)));
    return RMGR_OK;
  });
}

rmgr_status RMGR_CALL remove(void* ctx, rmgr_str key) noexcept {
  return guarded(ctx, [&](const fs::path& path) -> rmgr_status {
    if (!usable(key)) return RMGR_E_INVALID;
    fs::remove(path / hex(from_abi(key)));
    return RMGR_OK;
  });
}

rmgr_status RMGR_CALL list(void* ctx, rmgr_str prefix, const rmgr_text_sink* keys) noexcept {
  return guarded(ctx, [&](const fs::path& path) -> rmgr_status {
    for (const auto& entry : fs::directory_iterator(path)) {
      const std::string key = unhex(entry.path().filename().string());
      if (!key.starts_with(from_abi(prefix))) continue;
      const rmgr_status status = keys->write(keys->ctx, to_abi(key));
      if (status != RMGR_OK) return status;
    }
    return RMGR_OK;
  });
}

}  // namespace

rmgr_kv_service kv_service(Host* host) {
  return {sizeof(rmgr_kv_service), 0, host, &get, &put, &remove, &list};
}

}  // namespace rmgr::conform
