// Which installed trees this process trusts, and the looks that keep it so.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>

#include "package/store.hpp"
#include "package/tree.hpp"

namespace agent::package {

// Thread-safe. Looks at trees take turns; one cheap look serves everybody who came before it began.
class Trust {
 public:
  Trust(const Store& store, const Options& options);

  // A tree that this process just made and described.
  void add(Manifest manifest, std::string fingerprint);
  [[nodiscard]] bool trusts(const PackageDigest& digest) const;

  // The manifest of a tree that is as it must be: known and untouched since, or verified in full. A tree that
  // is not is discarded (corrupt). not_found when none is installed.
  Result<std::shared_ptr<const Manifest>> confirm(const PackageDigest& digest, const Cancelled& cancelled);
  // As confirm, but always in full.
  Result<std::shared_ptr<const Manifest>> verify(const PackageDigest& digest, const Cancelled& cancelled);
  void forget(const PackageDigest& digest);

 private:
  struct Trusted {
    std::shared_ptr<const Manifest> manifest;
    std::string fingerprint;
    std::uint64_t looked_at = 0;  // when the last good look began
  };
  struct EndTurn {
    void operator()(Trust* trust) const;
  };
  using Turn = std::unique_ptr<Trust, EndTurn>;

  Result<Turn> take_turn(const Cancelled& cancelled);
  Result<std::shared_ptr<const Manifest>> verify_now(const PackageDigest& digest, const Cancelled& cancelled);
  domain::Error discard(const PackageDigest& digest);
  [[nodiscard]] std::optional<Trusted> known(const PackageDigest& digest) const;

  const Store& store_;
  const Options& options_;
  TreeLimits limits_;
  mutable std::mutex mutex_;  // of what follows; never held while anything blocks
  std::condition_variable turn_ended_;
  bool turn_taken_ = false;
  std::map<PackageDigest, Trusted> trusted_;
  std::atomic<std::uint64_t> order_{0};
};

}  // namespace agent::package
