// Runner packages: a cache of verified trees, and copies of them for attempts. Knows no plugin and no
// journal: bytes come through Source, leases are the caller's word for what prune must keep. All calls block;
// thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "domain/attempt.hpp"

namespace agent::package {

using domain::PackageDigest;
using domain::Result;

struct Query {
  std::string target, os, architecture;
  std::string source{};  // name of the source instance: answers of different sources are never mixed
};
struct Offer {
  std::string version, filename, sha256;
  std::int64_t size = -1;
  std::string ref;
};
using Cancelled = std::function<bool()>;  // asked from several threads at once; empty: never

// Where bytes come from. An adapter over a package source plugin, or a fake with faults.
class Source {
 public:
  virtual ~Source() = default;
  virtual Result<std::vector<Offer>> catalog(const Query& query) = 0;
  struct Receiver {
    virtual ~Receiver() = default;
    virtual Result<void> begin(std::int64_t total, std::string_view validator, bool restarted) = 0;
    virtual Result<void> chunk(std::string_view bytes) = 0;
  };
  virtual Result<void> fetch(std::string_view ref, std::int64_t offset, std::string_view validator,
                             Receiver& receiver) = 0;
};

struct Options {
  std::string root;  // 0700, ours
  std::int64_t max_archive_bytes = std::int64_t{2} << 30;
  std::int64_t max_tree_bytes = std::int64_t{8} << 30;
  std::int64_t max_entries = 200'000;
  std::int64_t max_ratio = 200;  // unpacked bytes for each packed byte
  domain::Millis check_interval{6 * 3600 * 1000};
  std::vector<std::pair<std::string, std::string>> pins;  // version → sha256, for sources that publish none
  std::string unpacker;  // program that unpacks in a child; empty: this process does (tests)
  // Jobs run as the account of this process, so they can write to the cache: a tree from before the start is
  // never trusted, and each copy is read back in full.
  bool shared_account = false;
  domain::Millis unpack_limit{10 * 60 * 1000};  // the child is killed past it
};

struct Installed {
  PackageDigest digest;
  std::string version;
  bool downloaded = false;
};

// What materialize made, for step timings.
struct Copied {
  std::int64_t entries = 0;
  std::int64_t bytes = 0;
};

// Errors of acquire: denied = unusable digest (terminal), invalid = unsafe archive (terminal), not_found =
// nothing for this host (terminal); everything else may be tried again. So a source's own denied, invalid,
// not_found and unsupported come out as retry, with its message.
class Cache {
 public:
  static Result<std::unique_ptr<Cache>> open(Options options);
  virtual ~Cache() = default;

  // The newest package for the query, installed and trusted. Asks the catalog at most once in check_interval
  // for a (source, os, architecture), whatever the target; while one caller installs, others wait and share
  // its answer, and its failure unless that is terminal. When the catalog cannot be had, its last answer in
  // this process stands in.
  virtual Result<Installed> acquire(Source& source, const Query& query, const Cancelled& cancelled) = 0;
  // Copies a trusted tree into `destination`, an existing empty directory, hashing while it copies; every
  // entry is compared with the manifest. A mismatch discards the tree only if the tree itself differs
  // (ErrorCode::retry: acquire again). After any error the destination is empty again. Files belong to this
  // process's account.
  virtual Result<Copied> materialize(const PackageDigest& digest, const std::string& destination,
                                     const Cancelled& cancelled) = 0;
  // Removes installed packages that are neither the newest nor in `leased`. Answers how many. busy while one
  // installs or copies.
  virtual Result<std::int64_t> prune(const std::set<PackageDigest>& leased, const Cancelled& cancelled) = 0;
  // Forgets when the catalog was asked for this query, so that the next acquire asks again.
  virtual void refresh(const Query& query) = 0;
};

}  // namespace agent::package
