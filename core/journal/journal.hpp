// The durable record of every attempt, and the only source of ownership. SQLite: WAL, synchronous FULL, one
// writing connection. Everything here runs on the thread that owns the journal.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/attempt.hpp"

namespace agent::journal {

using domain::Attempt;
using domain::Result;

struct OpenOptions {
  std::string path;  // the database file; its directory is 0700 and ours
  std::string vfs;   // empty: the default; tests name an in-memory one
  bool exclusive =
      true;  // locking_mode=EXCLUSIVE (no shared memory); the daemon opens with false so that readers work
  std::string installation;  // minted by the caller; used only when the journal is new
  std::string machine;  // this machine's id; a journal of another machine is refused with ErrorCode::denied
  bool read_only = false;      // mode=ro: for the command line without a daemon; `exclusive` is ignored then
  bool check = true;           // walks every page at open; O(size)
  bool adopt_machine = false;  // takes over a journal of another machine instead of refusing it
  domain::Millis busy_timeout{5000};  // how long another process may hold the file
};

// What happened to an attempt, append-only. `word` is a state, an outcome, an effect or a termination of the
// closed vocabularies; any other is refused (ErrorCode::internal). `detail` has the form of a word: at most
// 64 of a-z, 0-9, _.
struct EventRecord {
  domain::AttemptId attempt;
  domain::Instant at;
  std::string word;
  std::string detail;  // closed vocabulary or empty; never free text
};

// Everything of one turn: written in one transaction or not at all. An attempt that the journal does not know
// yet is inserted, any other is updated; write-once facts that would change are refused
// (ErrorCode::internal).
struct Batch {
  std::vector<Attempt> attempts;
  std::vector<EventRecord> events;
  [[nodiscard]] bool empty() const { return attempts.empty() && events.empty(); }
};

class Journal {
 public:
  // Opens, checks and migrates. Errors: denied (another machine, writable by others), corrupt, unsupported
  // (newer schema), busy (another daemon), full.
  static Result<std::unique_ptr<Journal>> open(const OpenOptions& options);
  virtual ~Journal() = default;

  [[nodiscard]] virtual domain::InstallationId installation() const = 0;

  // One BEGIN IMMEDIATE transaction. exists: the fence of runtime paths or slots was hit, by name; nothing
  // was written. full, retry, busy: nothing was written and the journal stays usable; only a power loss
  // before the next commit may still bring the whole batch back.
  virtual Result<void> commit(const Batch& batch) = 0;

  // Writes something that changes nothing, durably, as commit would. For asking after a failure whether it is
  // over although nothing waits to be written.
  virtual Result<void> prove_writable() = 0;

  // Attempts that still ask for something: not cleaned, owing a deregistration, or wanting a replacement.
  // O(result).
  virtual Result<std::vector<Attempt>> load_active() = 0;
  // Cleaned attempts whose runtime directory is still looked at after `wall_ms`. O(result).
  virtual Result<std::vector<Attempt>> load_residues(std::int64_t wall_ms) = 0;
  virtual Result<std::optional<Attempt>> find(const domain::AttemptId& id) = 0;
  // The newest first.
  virtual Result<std::vector<Attempt>> recent(std::int64_t limit) = 0;
  virtual Result<std::vector<EventRecord>> events_of(const domain::AttemptId& id) = 0;

  // Small durable maps of plugin instances; see rmgr.kv/1 for the bounds, which are enforced here (invalid).
  // Removing an absent key succeeds; keys are listed in byte order.
  virtual Result<std::optional<std::string>> kv_get(const domain::InstanceName& instance,
                                                    std::string_view key) = 0;
  virtual Result<void> kv_put(const domain::InstanceName& instance, std::string_view key,
                              std::string_view value) = 0;
  virtual Result<void> kv_remove(const domain::InstanceName& instance, std::string_view key) = 0;
  virtual Result<std::vector<std::string>> kv_list(const domain::InstanceName& instance,
                                                   std::string_view prefix) = 0;

  // Removes at most `limit` cleaned, settled attempts (with their events) that ended before `before_wall_ms`
  // and are not among the newest `keep` of them, by their end. Answers how many; fewer than `limit`: done.
  virtual Result<std::int64_t> prune(std::int64_t before_wall_ms, std::int64_t keep, std::int64_t limit) = 0;
};

// One daemon for each state directory: an fcntl lock on DIR/lock, retried for `patience`. Held until
// destroyed. It is the process's: children never hold it, a second acquire in this process succeeds and its
// end gives up the lock of both. Makes the directory if it is missing. busy: another process holds it.
class StateLock {
 public:
  static Result<StateLock> acquire(const std::string& directory, domain::Millis patience);
  // The process that has it, nothing if there is none or if that cannot be told. Takes and makes nothing.
  static std::optional<std::int64_t> holder(const std::string& directory);
  StateLock(StateLock&& other) noexcept;
  StateLock& operator=(StateLock&& other) noexcept;
  ~StateLock();

 private:
  explicit StateLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

// A file of 16 MiB beside the journal that is given up on a full disk, so that what runs can still be ended.
// ensure_reserve really takes the blocks (full: they are not there, and nothing is kept). restore_reserve
// does so only where as much again stays free (full otherwise), so that what is started then has room. All
// may be repeated.
Result<void> ensure_reserve(const std::string& directory);
Result<void> restore_reserve(const std::string& directory);
// For a start: a journal without a reserve gave it up, and takes it back only as restore_reserve does.
Result<void> start_reserve(const std::string& directory);
Result<void> give_up_reserve(const std::string& directory);
// What a daemon that starts now would meet: denied (the file system is read-only) or full. Changes nothing.
Result<void> check_place(const std::string& directory);

}  // namespace agent::journal
