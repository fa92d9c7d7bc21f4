// The cache's directories: <root>/packages/<digest>/{tree, manifest} and <root>/staging/<unique>.
#pragma once

#include "package/files.hpp"
#include "package/manifest.hpp"

namespace agent::package {

class Store;

// One directory below staging, removed again unless it was committed.
class Stage {
 public:
  Stage(Stage&& other) noexcept;
  Stage& operator=(Stage&&) = delete;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  ~Stage();
  [[nodiscard]] int directory() const { return directory_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  friend class Store;
  Stage(int staging, std::string name, std::string path, Fd directory);
  int staging_;
  std::string name_, path_;
  Fd directory_;
};

// Thread-safe as far as the filesystem is: each step is one rename, or works in a directory of its own.
class Store {
 public:
  // Makes what is missing (0700, ours) and removes what an interrupted install left in staging.
  static Result<Store> open(const std::string& root);

  Result<Stage> stage() const;
  // Makes the staged directory, which holds `tree`, the package of `manifest`: writes the manifest, syncs it
  // and renames. exists: there is one already.
  Result<void> commit(Stage stage, const Manifest& manifest) const;

  [[nodiscard]] Result<std::vector<std::string>> names() const;
  // not_found if there is none.
  [[nodiscard]] Result<Fd> tree(const PackageDigest& digest) const;
  // Only a manifest that nobody else could have written: ours, and not writable by others. corrupt otherwise.
  [[nodiscard]] Result<Manifest> manifest(const PackageDigest& digest, std::int64_t max_entries) const;
  // Out of the way in one rename, then removed. A missing one is success.
  Result<void> discard(const std::string& name) const;

 private:
  std::string root_;
  Fd packages_, staging_;
};

}  // namespace agent::package
