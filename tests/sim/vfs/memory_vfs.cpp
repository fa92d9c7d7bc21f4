#include "sim/vfs/memory_vfs.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>

#include "sim/vfs/disk.hpp"

namespace simulation {

namespace {

// SQLite allocates it as raw memory and calls its methods through the table at its start.
struct Handle {
  sqlite3_file base{};
  Disk* disk = nullptr;
  std::shared_ptr<Node> node;
  std::uint64_t epoch = 0;
  std::string delete_on_close;
};

Handle& handle_of(sqlite3_file* file) { return *reinterpret_cast<Handle*>(file); }
Disk& disk_of(sqlite3_vfs* vfs) { return *static_cast<Disk*>(vfs->pAppData); }
bool dead(const Handle& handle) { return handle.epoch != handle.disk->epoch() || handle.disk->dark(); }

int status_of(Answer answer, int io_error) {
  if (answer == Answer::no_space) return SQLITE_FULL;
  return answer == Answer::done ? SQLITE_OK : io_error;
}

int close_file(sqlite3_file* file) {
  Handle& handle = handle_of(file);
  if (!dead(handle)) {
    handle.node->locks.erase(file);
    if (!handle.delete_on_close.empty()) handle.disk->remove(handle.delete_on_close);
  }
  std::destroy_at(&handle);
  return SQLITE_OK;
}

int read_file(sqlite3_file* file, void* into, int amount, sqlite3_int64 offset) {
  const Handle& handle = handle_of(file);
  if (dead(handle)) return SQLITE_IOERR_READ;
  const std::string& content = handle.node->written;
  const auto from = std::min(static_cast<std::size_t>(offset), content.size());
  const auto there = std::min(static_cast<std::size_t>(amount), content.size() - from);
  std::memcpy(into, content.data() + from, there);
  if (there == static_cast<std::size_t>(amount)) return SQLITE_OK;
  std::memset(static_cast<char*>(into) + there, 0, static_cast<std::size_t>(amount) - there);
  return SQLITE_IOERR_SHORT_READ;
}

int write_file(sqlite3_file* file, const void* from, int amount, sqlite3_int64 offset) {
  const Handle& handle = handle_of(file);
  if (dead(handle)) return SQLITE_IOERR_WRITE;
  const std::string_view bytes{static_cast<const char*>(from), static_cast<std::size_t>(amount)};
  return status_of(handle.disk->write(*handle.node, static_cast<std::uint64_t>(offset), bytes),
                   SQLITE_IOERR_WRITE);
}

int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  const Handle& handle = handle_of(file);
  if (dead(handle)) return SQLITE_IOERR_TRUNCATE;
  return status_of(handle.disk->truncate(*handle.node, static_cast<std::uint64_t>(size)),
                   SQLITE_IOERR_TRUNCATE);
}

int sync_file(sqlite3_file* file, int) {
  const Handle& handle = handle_of(file);
  if (dead(handle)) return SQLITE_IOERR_FSYNC;
  return status_of(handle.disk->sync(*handle.node), SQLITE_IOERR_FSYNC);
}

int file_size(sqlite3_file* file, sqlite3_int64* size) {
  const Handle& handle = handle_of(file);
  if (dead(handle)) return SQLITE_IOERR_FSTAT;
  *size = static_cast<sqlite3_int64>(handle.node->written.size());
  return SQLITE_OK;
}

int highest_other_lock(const Handle& handle, const sqlite3_file* file) {
  int highest = SQLITE_LOCK_NONE;
  for (const auto& [holder, level] : handle.node->locks) {
    if (holder != file) highest = std::max(highest, level);
  }
  return highest;
}

int lock_file(sqlite3_file* file, int wanted) {
  const Handle& handle = handle_of(file);
  if (dead(handle)) return SQLITE_IOERR_LOCK;
  int& held = handle.node->locks[file];
  const int others = highest_other_lock(handle, file);
  if (held >= wanted) return SQLITE_OK;
  if (wanted == SQLITE_LOCK_SHARED && others >= SQLITE_LOCK_PENDING) return SQLITE_BUSY;
  if (wanted >= SQLITE_LOCK_RESERVED && others >= SQLITE_LOCK_RESERVED) return SQLITE_BUSY;
  if (wanted == SQLITE_LOCK_EXCLUSIVE && others >= SQLITE_LOCK_SHARED) {
    held = SQLITE_LOCK_PENDING;
    return SQLITE_BUSY;
  }
  held = wanted;
  return SQLITE_OK;
}

int unlock_file(sqlite3_file* file, int level) {
  const Handle& handle = handle_of(file);
  if (dead(handle)) return SQLITE_OK;
  int& held = handle.node->locks[file];
  held = std::min(held, level);
  return SQLITE_OK;
}

int check_reserved(sqlite3_file* file, int* answer) {
  const Handle& handle = handle_of(file);
  if (dead(handle)) return SQLITE_IOERR_CHECKRESERVEDLOCK;
  *answer = highest_other_lock(handle, file) >= SQLITE_LOCK_RESERVED ? 1 : 0;
  return SQLITE_OK;
}

int control_file(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
int sector_size(sqlite3_file*) { return 4096; }
int characteristics(sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

// Version 1: neither shared memory nor mapping.
constexpr sqlite3_io_methods kMethods{
    1,         close_file,  read_file,      write_file,   truncate_file, sync_file,       file_size,
    lock_file, unlock_file, check_reserved, control_file, sector_size,   characteristics, nullptr,
    nullptr,   nullptr,     nullptr,        nullptr,      nullptr};

// A file without a name is a temporary one of its handle alone.
std::shared_ptr<Node> nameless() {
  auto node = std::make_shared<Node>();
  node->counted = false;
  return node;
}

int open_file(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* flags_out) {
  file->pMethods = nullptr;  // a failed open must not be closed
  Disk& disk = disk_of(vfs);
  if (disk.dark()) return SQLITE_IOERR;
  auto node = path == nullptr ? nameless() : disk.open(path, (flags & SQLITE_OPEN_CREATE) != 0);
  if (node == nullptr) return SQLITE_CANTOPEN;
  auto* handle = new (file) Handle;
  handle->disk = &disk;
  handle->node = std::move(node);
  handle->epoch = disk.epoch();
  if (path != nullptr && (flags & SQLITE_OPEN_DELETEONCLOSE) != 0) handle->delete_on_close = path;
  handle->base.pMethods = &kMethods;
  if (flags_out != nullptr) *flags_out = flags;
  return SQLITE_OK;
}

int delete_file(sqlite3_vfs* vfs, const char* path, int) {
  Disk& disk = disk_of(vfs);
  if (!disk.dark() && !disk.exists(path)) return SQLITE_IOERR_DELETE_NOENT;
  return status_of(disk.remove(path), SQLITE_IOERR_DELETE);
}

int access_file(sqlite3_vfs* vfs, const char* path, int, int* answer) {
  const Disk& disk = disk_of(vfs);
  if (disk.dark()) return SQLITE_IOERR_ACCESS;
  *answer = disk.exists(path) ? 1 : 0;
  return SQLITE_OK;
}

int full_path(sqlite3_vfs*, const char* path, int size, char* into) {
  sqlite3_snprintf(size, into, "%s", path);
  return SQLITE_OK;
}

int randomness(sqlite3_vfs*, int size, char* into) {
  std::memset(into, 0x5a, static_cast<std::size_t>(size));
  return size;
}

int sleep_for(sqlite3_vfs*, int microseconds) { return microseconds; }

int current_time(sqlite3_vfs*, double* now) {
  *now = 2460000.5;  // some Julian day
  return SQLITE_OK;
}

int last_error(sqlite3_vfs*, int, char*) { return 0; }

}  // namespace

struct MemoryVfs::Registration {
  std::string name;
  sqlite3_vfs vfs{};
};

MemoryVfs::MemoryVfs(std::string name)
    : disk_(std::make_unique<Disk>()), registration_(std::make_unique<Registration>()) {
  registration_->name = std::move(name);
  if (sqlite3_vfs_find(registration_->name.c_str()) != nullptr)
    throw std::logic_error("a VFS of that name exists");
  sqlite3_vfs& vfs = registration_->vfs;
  vfs.iVersion = 1;
  vfs.szOsFile = static_cast<int>(sizeof(Handle));
  vfs.mxPathname = 512;
  vfs.zName = registration_->name.c_str();
  vfs.pAppData = disk_.get();
  vfs.xOpen = open_file;
  vfs.xDelete = delete_file;
  vfs.xAccess = access_file;
  vfs.xFullPathname = full_path;
  vfs.xRandomness = randomness;
  vfs.xSleep = sleep_for;
  vfs.xCurrentTime = current_time;
  vfs.xGetLastError = last_error;
  if (sqlite3_vfs_register(&vfs, 0) != SQLITE_OK) throw std::runtime_error("SQLite refused the VFS");
}

MemoryVfs::~MemoryVfs() { sqlite3_vfs_unregister(&registration_->vfs); }

const std::string& MemoryVfs::name() const { return registration_->name; }

void MemoryVfs::crash() {
  disk_->crash([] { return false; });
}
void MemoryVfs::crash(const std::function<bool()>& survives) { disk_->crash(survives); }
void MemoryVfs::fail(Operation operation, std::uint64_t nth, Fault fault) {
  disk_->fail(operation, nth, fault);
}
void MemoryVfs::limit(std::uint64_t bytes) { disk_->limit(bytes); }
std::uint64_t MemoryVfs::used() const { return disk_->used(); }
Counters MemoryVfs::counters() const { return disk_->counters(); }
std::shared_ptr<const MemoryVfs::Image> MemoryVfs::image() const {
  return std::make_shared<Image>(disk_->image());
}
void MemoryVfs::load(const std::shared_ptr<const Image>& image) { disk_->load(*image); }

}  // namespace simulation
