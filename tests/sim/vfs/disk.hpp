// The files behind MemoryVfs, without anything of SQLite.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/vfs/memory_vfs.hpp"

namespace simulation {

// One change since the last sync.
struct Change {
  std::uint64_t offset = 0;
  std::string bytes;
  bool truncation = false;  // to `offset`
  std::string before{};     // what it overwrote or cut off
  std::uint64_t size = 0;   // of the file before it
};

struct Node {
  std::string written;               // what a reader sees
  std::vector<Change> unsynced;      // taken back by a crash, the newest first
  bool durable = false;              // it was synced once
  bool counted = true;               // it has a name, so its size counts
  std::map<const void*, int> locks;  // of handles, by SQLite's lock levels
};

struct MemoryVfs::Image {
  std::map<std::string, std::string> files;
};

enum class Answer { done, io_error, no_space };

class Disk {
 public:
  std::shared_ptr<Node> open(const std::string& path, bool create);
  [[nodiscard]] bool exists(const std::string& path) const { return files_.contains(path); }
  Answer remove(const std::string& path);

  Answer write(Node& node, std::uint64_t offset, std::string_view bytes);
  Answer truncate(Node& node, std::uint64_t size);
  Answer sync(Node& node);

  void crash(const std::function<bool()>& survives);
  void fail(Operation operation, std::uint64_t nth, Fault fault);
  void limit(std::uint64_t bytes) { limit_ = bytes; }
  [[nodiscard]] std::uint64_t used() const { return used_; }
  [[nodiscard]] const Counters& counters() const { return counters_; }
  // Handles of another epoch are dead.
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
  [[nodiscard]] bool dark() const { return dark_; }

  [[nodiscard]] MemoryVfs::Image image() const;
  void load(const MemoryVfs::Image& image);

 private:
  struct Planned {
    std::uint64_t countdown = 0;
    Fault fault = Fault::io_error;
  };
  std::optional<Answer> faulted(std::optional<Planned>& planned);
  Answer change(Node& node, Change change);
  void recount();

  std::map<std::string, std::shared_ptr<Node>> files_;
  Counters counters_;
  std::optional<Planned> write_fault_;
  std::optional<Planned> sync_fault_;
  std::uint64_t limit_ = 0;
  std::uint64_t used_ = 0;
  std::uint64_t epoch_ = 1;
  bool dark_ = false;
};

}  // namespace simulation
