// kv and work directory.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "plugin/crash_note.hpp"
#include "plugin/gate.hpp"
#include "plugin/services.hpp"

namespace agent::plugin {
namespace {

using domain::Error;
using domain::ErrorCode;
using domain::Result;

constexpr std::size_t most_key = 128;

Services& of(void* ctx) { return *static_cast<Services*>(ctx); }

bool usable(std::string_view key) { return !key.empty() && key.size() <= most_key && is_utf8(key); }

// Runs `use` on the store if it is there.
template <class Use>
rmgr_status with_store(void* ctx, Use&& use) noexcept {
  return at_boundary([&]() -> rmgr_status {
    rmgr_status status = RMGR_E_UNSUPPORTED;
    Services& services = of(ctx);
    services.ports().with_kv([&](KvPort& kv) { status = use(kv, services.instance()); });
    return status;
  });
}

rmgr_status RMGR_CALL kv_get(void* ctx, rmgr_str key, const rmgr_text_sink* value) noexcept {
  return with_store(ctx, [&](KvPort& kv, const domain::InstanceName& name) -> rmgr_status {
    if (!usable(view_of(key)) || value == nullptr) return RMGR_E_INVALID;
    const auto found = as_host([&] { return kv.get(name, view_of(key)); });
    if (!found) return to_status(found.error().code);
    if (!found->has_value()) return RMGR_E_NOT_FOUND;
    return value->write(value->ctx, to_abi(**found));
  });
}

rmgr_status RMGR_CALL kv_put(void* ctx, rmgr_str key, rmgr_str value) noexcept {
  return with_store(ctx, [&](KvPort& kv, const domain::InstanceName& name) -> rmgr_status {
    const std::string_view text = view_of(value);
    if (!usable(view_of(key)) || text.size() > most_text_bytes || !is_utf8(text)) return RMGR_E_INVALID;
    const auto put = as_host([&] { return kv.put(name, view_of(key), text); });
    return put ? RMGR_OK : to_status(put.error().code);
  });
}

rmgr_status RMGR_CALL kv_remove(void* ctx, rmgr_str key) noexcept {
  return with_store(ctx, [&](KvPort& kv, const domain::InstanceName& name) -> rmgr_status {
    if (!usable(view_of(key))) return RMGR_E_INVALID;
    const auto removed = as_host([&] { return kv.remove(name, view_of(key)); });
    return removed ? RMGR_OK : to_status(removed.error().code);
  });
}

rmgr_status RMGR_CALL kv_list(void* ctx, rmgr_str prefix, const rmgr_text_sink* keys) noexcept {
  return with_store(ctx, [&](KvPort& kv, const domain::InstanceName& name) -> rmgr_status {
    if (view_of(prefix).size() > most_key || keys == nullptr) return RMGR_E_INVALID;
    const auto found = as_host([&] { return kv.list(name, view_of(prefix)); });
    if (!found) return to_status(found.error().code);
    for (const std::string& key : *found) {
      const rmgr_status status = keys->write(keys->ctx, to_abi(key));
      if (status != RMGR_OK) return status;
    }
    return RMGR_OK;
  });
}

Error directory_error(const std::string& path, const std::string& why) {
  return {ErrorCode::denied, "The work directory " + path + " cannot be used: " + why, {}};
}

// One directory of ours, made if need be.
Result<void> own_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return directory_error(path, std::string("it cannot be made (") + std::strerror(errno) + ").");
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0)
    return directory_error(path, std::string("it cannot be examined (") + std::strerror(errno) + ").");
  if (!S_ISDIR(info.st_mode))
    return directory_error(path, "something else than a directory has its name; remove it.");
  if (info.st_uid != ::geteuid()) return directory_error(path, "it belongs to another account; remove it.");
  if ((info.st_mode & 077) != 0 && ::chmod(path.c_str(), 0700) != 0)
    return directory_error(path, "others can enter it; run chmod 700 on it.");
  return {};
}

rmgr_status RMGR_CALL work_directory_path(void* ctx, const rmgr_text_sink* sink,
                                          const rmgr_error* error) noexcept {
  return at_boundary([&]() -> rmgr_status {
    if (sink == nullptr) return RMGR_E_INVALID;
    const Services& services = of(ctx);
    const std::string& parent = services.ports().work_directory();
    const std::string path = parent + "/" + services.instance().str();
    for (const std::string& each : {parent, path}) {
      const auto made = as_host([&] { return own_directory(each); });
      if (!made) return explain(error, made.error());
    }
    return sink->write(sink->ctx, to_abi(path));
  });
}

}  // namespace

rmgr_kv_service make_kv_service(Services* services) {
  return {sizeof(rmgr_kv_service), 0, services, &kv_get, &kv_put, &kv_remove, &kv_list};
}
rmgr_work_directory_service make_work_directory_service(Services* services) {
  return {sizeof(rmgr_work_directory_service), 0, services, &work_directory_path};
}

}  // namespace agent::plugin
