// A disk for SQLite in memory that forgets at a crash what was not synced. Deterministic: no clock, no
// randomness of its own, no threads. It has no shared memory, so a database in WAL mode needs
// locking_mode=EXCLUSIVE.
//
//   simulation::MemoryVfs disk{"disk-1"};
//   auto journal = Journal::open({.path = "/journal.db", .vfs = disk.name(), …});
//   …
//   disk.crash();     // first the power goes,
//   journal.reset();  // then the process: its handles are dead and change nothing any more
//   journal = Journal::open(…);
//
// What is durable: the content of a file as of its last sync; a file's existence from its first sync; a
// deletion at once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace simulation {

enum class Operation { write, sync };  // a truncation counts as a write
enum class Fault {
  io_error,   // the one operation fails
  no_space,   // the one operation fails: the disk is full
  power_cut,  // it and everything after it fails, until crash()
};

struct Counters {
  std::uint64_t syncs = 0;  // what would be fsync or fdatasync on a disk
  std::uint64_t writes = 0;
  std::uint64_t bytes_written = 0;
};

class Disk;

class MemoryVfs {
 public:
  // Registered under `name`, which must be new in this process, until destroyed; every connection must be
  // closed before that.
  explicit MemoryVfs(std::string name);
  ~MemoryVfs();
  MemoryVfs(const MemoryVfs&) = delete;
  MemoryVfs& operator=(const MemoryVfs&) = delete;

  [[nodiscard]] const std::string& name() const;

  // The power goes and comes back: every unsynced write and truncation is dropped, handles of before are
  // dead, faults that were set are forgotten.
  void crash();
  // The same on a less kind disk: `survives` is asked for each unsynced change, oldest first, whether it
  // reached the disk all the same.
  void crash(const std::function<bool()>& survives);

  // The nth operation of that kind from now fails, counted from 1. One fault at a time for each kind.
  void fail(Operation operation, std::uint64_t nth, Fault fault);
  // No file system is endless: writes that would make all files together larger fail. 0: no limit.
  void limit(std::uint64_t bytes);
  [[nodiscard]] std::uint64_t used() const;

  [[nodiscard]] Counters counters() const;

  // All files as they are now, to start another disk from without making a journal again.
  struct Image;
  [[nodiscard]] std::shared_ptr<const Image> image() const;
  void load(const std::shared_ptr<const Image>& image);

 private:
  struct Registration;
  std::unique_ptr<Disk> disk_;
  std::unique_ptr<Registration> registration_;
};

}  // namespace simulation
