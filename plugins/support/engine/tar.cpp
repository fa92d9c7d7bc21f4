#include "support/engine/tar.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "support/engine/tree.hpp"

namespace plugins::engine {
namespace {

using rmgr::Error;
using rmgr::Status;

constexpr std::size_t block = 512;
constexpr std::size_t most_entries = 500'000;

// A field of N bytes: octal digits, and a zero behind them.
template <std::size_t N>
void octal(std::array<char, block>& header, std::size_t at, std::uint64_t value) {
  for (std::size_t digit = N - 1; digit-- > 0; value /= 8)
    header[at + digit] = static_cast<char>('0' + value % 8);
  header[at + N - 1] = '\0';
}

std::string record(const std::string& key, const std::string& value) {
  const std::size_t rest = key.size() + value.size() + 3;  // a space, the sign and the end of the line
  std::size_t size = rest + 1;
  while (std::to_string(size).size() + rest != size)
    size = std::to_string(size).size() + rest;
  return std::to_string(size) + ' ' + key + '=' + value + '\n';
}

class Archive final : public TreeVisitor {
 public:
  Archive(const rmgr::Call& call, const TarOptions& options, const Emit& emit)
      : call_(call), options_(options), emit_(emit) {}

  void directory(const std::string& name, std::uint32_t mode) override {
    call_.check();
    head(name, '5', mode, 0, "");
  }

  void link(const std::string& name, const std::string& target) override { head(name, '2', 0777, 0, target); }

  void file(const std::string& name, std::uint32_t mode, std::uint64_t size, const Read& read) override {
    head(name, '0', mode, size, "");
    std::vector<char> buffer(std::size_t{256} << 10);
    for (std::uint64_t left = size; left > 0;) {
      call_.check();
      const std::size_t count =
          read({buffer.data(), static_cast<std::size_t>(std::min<std::uint64_t>(left, buffer.size()))});
      if (count == 0)
        throw Error(Status::retry, "A file of the runner package became shorter while it was read.");
      emit_({buffer.data(), count});
      left -= count;
    }
    const auto over = static_cast<std::size_t>(size % block);
    if (over != 0) emit_(std::string(block - over, '\0'));
  }

  void end() { emit_(std::string(2 * block, '\0')); }

 private:
  void head(const std::string& name, char type, std::uint32_t mode, std::uint64_t size,
            const std::string& target) {
    if (++entries_ > most_entries) throw Error(Status::invalid, "The runner package holds too many files.");
    std::string extra;
    if (name.size() > 100) extra += record("path", name);
    if (target.size() > 100) extra += record("linkpath", target);
    if (!extra.empty()) {
      raw("rmgr-pax", 'x', 0644, extra.size(), "");
      content(extra);
    }
    raw(name, type, mode, size, target);
  }

  void raw(const std::string& name, char type, std::uint32_t mode, std::uint64_t size,
           const std::string& target) {
    std::array<char, block> header{};
    std::memcpy(header.data(), name.data(), std::min<std::size_t>(name.size(), 100));
    octal<8>(header, 100, mode & 07777U);
    octal<8>(header, 108, options_.uid);
    octal<8>(header, 116, options_.gid);
    octal<12>(header, 124, size);
    octal<12>(header, 136, 0);
    header[156] = type;
    std::memcpy(header.data() + 157, target.data(), std::min<std::size_t>(target.size(), 100));
    std::memcpy(header.data() + 257,
                "ustar\0"
                "00",
                8);
    std::memset(header.data() + 148, ' ', 8);
    unsigned sum = 0;
    for (const char c : header)
      sum += static_cast<unsigned char>(c);
    octal<7>(header, 148, sum);
    emit_({header.data(), header.size()});
  }

  void content(std::string text) {
    text.resize((text.size() + block - 1) / block * block);
    emit_(text);
  }

  const rmgr::Call& call_;
  const TarOptions& options_;
  const Emit& emit_;
  std::size_t entries_ = 0;
};

}  // namespace

void write_tar(const rmgr::Call& call, const std::string& directory, const TarOptions& options,
               const Emit& emit) {
  Archive archive(call, options, emit);
  for (const TarOptions::File& one : options.more) {
    const std::string prefix = one.directory + '/';
    archive.directory(prefix, 0755);
    visit_file(one.path, prefix + one.name, archive);
  }
  std::string prefix;
  if (!options.prefix.empty()) {
    prefix = options.prefix + '/';
    archive.directory(prefix, 0755);
  }
  if (!directory.empty()) visit_tree(directory, prefix, archive);
  archive.end();
}

bool TarNames::take(std::string_view bytes) {
  while (!bytes.empty() && !complete_) {
    if (skip_ > 0) {
      const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(skip_, bytes.size()));
      skip_ -= part;
      bytes.remove_prefix(part);
      continue;
    }
    const std::size_t part = std::min(block - header_.size(), bytes.size());
    header_.append(bytes.substr(0, part));
    bytes.remove_prefix(part);
    if (header_.size() < block) continue;
    const bool more = read_header();
    header_.clear();
    if (!more) return false;
  }
  return !complete_;
}

bool TarNames::read_header() {
  if (header_.find_first_not_of('\0') == std::string::npos) {
    complete_ = true;
    return false;
  }
  std::uint64_t size = 0;
  for (std::size_t at = 124; at < 135 && header_[at] >= '0' && header_[at] <= '7'; ++at)
    size = size * 8 + static_cast<std::uint64_t>(header_[at] - '0');
  if (header_.compare(257, 5, "ustar") != 0) return false;
  skip_ = (size + block - 1) / block * block;
  const char type = header_[156];
  if (type != '0' && type != '\0') return true;
  return seen_(header_.substr(0, std::min<std::size_t>(header_.find('\0'), 100)));
}

}  // namespace plugins::engine
