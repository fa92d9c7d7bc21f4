#include "sim/vfs/disk.hpp"

#include <algorithm>
#include <utility>

namespace simulation {

namespace {

void replay(std::string& content, const Change& change) {
  if (change.truncation) {
    content.resize(change.offset);
    return;
  }
  const std::uint64_t end = change.offset + change.bytes.size();
  if (content.size() < end) content.resize(end);
  std::copy(change.bytes.begin(), change.bytes.end(),
            content.begin() + static_cast<std::ptrdiff_t>(change.offset));
}

// Keeps what `change` is about to destroy.
void remember(const std::string& content, Change& change) {
  change.size = content.size();
  const std::uint64_t begin = std::min<std::uint64_t>(change.offset, content.size());
  change.before = content.substr(begin, change.truncation ? std::string::npos : change.bytes.size());
}

void take_back(std::string& content, const Change& change) {
  content.resize(change.size);
  const std::uint64_t begin = std::min(change.offset, change.size);
  std::copy(change.before.begin(), change.before.end(), content.begin() + static_cast<std::ptrdiff_t>(begin));
}

}  // namespace

std::shared_ptr<Node> Disk::open(const std::string& path, bool create) {
  if (const auto found = files_.find(path); found != files_.end()) return found->second;
  if (!create) return nullptr;
  return files_[path] = std::make_shared<Node>();
}

Answer Disk::remove(const std::string& path) {
  if (dark_) return Answer::io_error;
  const auto found = files_.find(path);
  if (found == files_.end()) return Answer::done;
  // Open handles go on with it, without its name.
  found->second->counted = false;
  files_.erase(found);
  recount();
  return Answer::done;
}

Answer Disk::write(Node& node, std::uint64_t offset, std::string_view bytes) {
  return change(node, {.offset = offset, .bytes = std::string{bytes}, .truncation = false});
}

Answer Disk::truncate(Node& node, std::uint64_t size) {
  return change(node, {.offset = size, .bytes = {}, .truncation = true});
}

Answer Disk::change(Node& node, Change change) {
  if (dark_) return Answer::io_error;
  if (const auto answer = faulted(write_fault_)) return *answer;
  const std::uint64_t before = node.written.size();
  const std::uint64_t end = change.offset + change.bytes.size();
  const std::uint64_t size = change.truncation ? change.offset : std::max(before, end);
  if (limit_ != 0 && node.counted && size > before && used_ + (size - before) > limit_)
    return Answer::no_space;
  remember(node.written, change);
  replay(node.written, change);
  if (node.counted) used_ = used_ - before + size;
  ++counters_.writes;
  counters_.bytes_written += change.bytes.size();
  node.unsynced.push_back(std::move(change));
  return Answer::done;
}

Answer Disk::sync(Node& node) {
  if (dark_) return Answer::io_error;
  if (const auto answer = faulted(sync_fault_)) return *answer;
  node.unsynced.clear();
  node.durable = true;
  ++counters_.syncs;
  return Answer::done;
}

std::optional<Answer> Disk::faulted(std::optional<Planned>& planned) {
  if (!planned || --planned->countdown > 0) return std::nullopt;
  const Fault fault = planned->fault;
  planned.reset();
  if (fault == Fault::power_cut) dark_ = true;
  return fault == Fault::no_space ? Answer::no_space : Answer::io_error;
}

void Disk::fail(Operation operation, std::uint64_t nth, Fault fault) {
  (operation == Operation::write ? write_fault_ : sync_fault_) =
      Planned{std::max<std::uint64_t>(nth, 1), fault};
}

void Disk::crash(const std::function<bool()>& survives) {
  for (auto place = files_.begin(); place != files_.end();) {
    auto fresh = std::make_shared<Node>();
    std::vector<Change>& unsynced = place->second->unsynced;
    fresh->written = std::move(place->second->written);
    fresh->durable = place->second->durable;
    for (auto change = unsynced.rbegin(); change != unsynced.rend(); ++change)
      take_back(fresh->written, *change);
    for (const Change& change : unsynced) {
      if (!survives()) continue;
      replay(fresh->written, change);
      fresh->durable = true;
    }
    const bool kept = fresh->durable;
    place->second = std::move(fresh);
    place = kept ? std::next(place) : files_.erase(place);
  }
  write_fault_.reset();
  sync_fault_.reset();
  dark_ = false;
  ++epoch_;
  recount();
}

MemoryVfs::Image Disk::image() const {
  MemoryVfs::Image image;
  for (const auto& [path, node] : files_)
    image.files[path] = node->written;
  return image;
}

void Disk::load(const MemoryVfs::Image& image) {
  files_.clear();
  for (const auto& [path, content] : image.files) {
    auto node = std::make_shared<Node>();
    node->written = content;
    node->durable = true;
    files_[path] = std::move(node);
  }
  ++epoch_;
  recount();
}

void Disk::recount() {
  used_ = 0;
  for (const auto& [path, node] : files_)
    used_ += node->written.size();
}

}  // namespace simulation
