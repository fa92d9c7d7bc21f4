// A temporary directory per test, made archives, and a source with scripted faults.
#pragma once

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "package/digest.hpp"
#include "package/files.hpp"
#include "package/package.hpp"

namespace scratch {

namespace package = agent::package;
using agent::domain::Error;
using agent::domain::ErrorCode;
using agent::domain::Result;

class Directory : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path = "/tmp/rmgr-package-XXXXXX";
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    home_ = path;
  }
  void TearDown() override {
    const auto parent = package::open_directory("/tmp");
    ASSERT_TRUE(parent.ok());
    EXPECT_TRUE(package::remove_entry(parent->get(), home_.substr(5)).ok());
  }
  [[nodiscard]] std::string at(const std::string& name) const { return home_ + "/" + name; }
  std::string directory(const std::string& name) const {
    EXPECT_EQ(::mkdir(at(name).c_str(), 0755), 0);
    return at(name);
  }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(at(name), std::ios::binary) << text;
    return at(name);
  }
  static std::string content(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static bool exists(const std::string& path) {
    struct stat info {};
    return ::lstat(path.c_str(), &info) == 0;
  }
  static unsigned mode_of(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(::lstat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777U;
  }
  static std::ptrdiff_t count(const std::string& path) {
    const std::filesystem::directory_iterator entries(path);
    return std::distance(begin(entries), end(entries));
  }
  std::string home_;
};

struct Member {
  std::string name;
  std::string text;
  unsigned mode = 0644;
  unsigned type = AE_IFREG;
  std::string link{};  // target of a symbolic link
  std::string hard{};  // target of a hard link
};
inline Member folder(std::string name, unsigned mode = 0755) {
  return {std::move(name), "", mode, AE_IFDIR, "", ""};
}
inline Member link_to(std::string name, std::string target) {
  return {std::move(name), "", 0777, AE_IFLNK, std::move(target), ""};
}
inline Member hard_link_to(std::string name, std::string target) {
  return {std::move(name), "", 0644, AE_IFREG, "", std::move(target)};
}

inline std::string make_archive(const std::vector<Member>& members, bool zip = false) {
  std::string bytes;
  archive* out = archive_write_new();
  if (zip) {
    archive_write_set_format_zip(out);
  } else {
    archive_write_set_format_pax_restricted(out);
    archive_write_add_filter_gzip(out);
  }
  const auto sink = [](archive*, void* to, const void* data, std::size_t size) -> la_ssize_t {
    static_cast<std::string*>(to)->append(static_cast<const char*>(data), size);
    return static_cast<la_ssize_t>(size);
  };
  archive_write_set_bytes_in_last_block(out, 1);
  EXPECT_EQ(archive_write_open(out, &bytes, nullptr, sink, nullptr), ARCHIVE_OK);
  for (const auto& member : members) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, member.name.c_str());
    archive_entry_set_filetype(entry, member.type);
    archive_entry_set_perm(entry, static_cast<mode_t>(member.mode));
    archive_entry_set_uid(entry, 4711);
    archive_entry_set_gid(entry, 4712);
    if (member.type == AE_IFREG && member.hard.empty()) {
      archive_entry_set_size(entry, static_cast<la_int64_t>(member.text.size()));
    }
    if (!member.link.empty()) archive_entry_set_symlink(entry, member.link.c_str());
    if (!member.hard.empty()) archive_entry_set_hardlink(entry, member.hard.c_str());
    EXPECT_EQ(archive_write_header(out, entry), ARCHIVE_OK) << member.name << archive_error_string(out);
    if (!member.text.empty()) archive_write_data(out, member.text.data(), member.text.size());
    archive_entry_free(entry);
  }
  archive_write_close(out);
  archive_write_free(out);
  return bytes;
}

// Bytes that do not compress, so that no bound on the ratio sees a bomb.
inline std::string noise(std::size_t size) {
  std::string bytes(size, '\0');
  std::uint64_t state = 88172645463325252U;
  for (auto& byte : bytes) {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    byte = static_cast<char>(state & 0xFFU);
  }
  return bytes;
}

// What a runner package looks like, small.
inline std::vector<Member> runner_members(const std::string& version = "1.0.0") {
  return {folder("./"),
          folder("./bin"),
          {"./bin/Runner.Listener", "listener " + version, 0755, AE_IFREG, "", ""},
          {"./bin/Runner.Worker", noise(700'000), 0755, AE_IFREG, "", ""},
          folder("./externals", 0700),
          folder("./externals/node20"),
          {"./externals/node20/node", "node", 0755, AE_IFREG, "", ""},
          link_to("./externals/node20/npm", "node"),
          {"./run.sh", "#!/bin/sh\n", 0755, AE_IFREG, "", ""},
          {"./empty", "", 0600, AE_IFREG, "", ""}};
}

inline std::string digest_of(const std::string& bytes) {
  package::Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

// Serves archives from memory. Faults are taken from the front, one per call.
class FakeSource final : public package::Source {
 public:
  using Fetch = std::function<Result<void>(FakeSource&, const std::string& bytes, std::int64_t offset,
                                           std::string_view validator, Receiver& receiver)>;

  void offer(const std::string& version, const std::string& bytes, bool with_digest = true) {
    const std::lock_guard lock(mutex_);
    archives_["ref-" + version] = bytes;
    offers_.push_back({version, "actions-runner-linux-x64-" + version + ".tar.gz",
                       with_digest ? digest_of(bytes) : "", static_cast<std::int64_t>(bytes.size()),
                       "ref-" + version});
  }
  std::vector<package::Offer>& offers() { return offers_; }
  void fail_catalog(ErrorCode code) { catalog_faults_.push_back(code); }
  void on_fetch(Fetch fetch) { fetches_.push_back(std::move(fetch)); }

  Result<std::vector<package::Offer>> catalog(const package::Query& query) override {
    ++catalogs;
    const std::lock_guard lock(mutex_);
    last_target = query.target;
    if (!catalog_faults_.empty()) {
      const auto code = catalog_faults_.front();
      catalog_faults_.erase(catalog_faults_.begin());
      return Error{code, "the fake catalog failed"};
    }
    return offers_;
  }

  Result<void> fetch(std::string_view ref, std::int64_t offset, std::string_view validator,
                     Receiver& receiver) override {
    ++fetches;
    Fetch scripted;
    std::string bytes;
    {
      const std::lock_guard lock(mutex_);
      offsets.push_back(offset);
      bytes = archives_[std::string(ref)];
      if (!fetches_.empty()) {
        scripted = fetches_.front();
        fetches_.erase(fetches_.begin());
      }
    }
    if (scripted) return scripted(*this, bytes, offset, validator, receiver);
    return send(bytes, offset, "v1", receiver);
  }

  static Result<void> send(const std::string& bytes, std::int64_t offset, std::string_view validator,
                           Receiver& receiver, std::size_t until = std::string::npos,
                           bool restarted = false) {
    auto begun = receiver.begin(static_cast<std::int64_t>(bytes.size()), validator, restarted);
    if (!begun) return begun;
    const auto end = std::min(until, bytes.size());
    for (auto from = static_cast<std::size_t>(offset); from < end; from += 1000) {
      auto sent =
          receiver.chunk(std::string_view(bytes).substr(from, std::min<std::size_t>(1000, end - from)));
      if (!sent) return sent;
    }
    return {};
  }
  // Breaks after `bytes` of the whole.
  static Fetch breaking_at(std::size_t at, std::string validator = "v1",
                           ErrorCode code = ErrorCode::unreachable) {
    return [=](FakeSource&, const std::string& bytes, std::int64_t offset, std::string_view,
               Receiver& receiver) -> Result<void> {
      auto sent = send(bytes, offset, validator, receiver, at);
      if (!sent) return sent;
      return Error{code, "the fake connection broke"};
    };
  }

  std::atomic<int> catalogs{0}, fetches{0};
  std::vector<std::int64_t> offsets;
  std::string last_target;

 private:
  std::mutex mutex_;
  std::vector<package::Offer> offers_;
  std::map<std::string, std::string> archives_;
  std::vector<ErrorCode> catalog_faults_;
  std::vector<Fetch> fetches_;
};

}  // namespace scratch
