#include "package/trust.hpp"

#include <chrono>

namespace agent::package {

using domain::Error;
using domain::ErrorCode;

// A tree of an archive within the limits may have directories that the archive did not list.
Trust::Trust(const Store& store, const Options& options)
    : store_(store), options_(options), limits_{options.max_entries * 2, options.max_tree_bytes} {}

void Trust::add(Manifest manifest, std::string fingerprint) {
  auto shared = std::make_shared<const Manifest>(std::move(manifest));
  const std::lock_guard lock(mutex_);
  trusted_[shared->digest] = Trusted{shared, std::move(fingerprint), 0};
}

bool Trust::trusts(const PackageDigest& digest) const { return known(digest).has_value(); }

void Trust::forget(const PackageDigest& digest) {
  const std::lock_guard lock(mutex_);
  trusted_.erase(digest);
}

std::optional<Trust::Trusted> Trust::known(const PackageDigest& digest) const {
  const std::lock_guard lock(mutex_);
  const auto found = trusted_.find(digest);
  if (found == trusted_.end()) return std::nullopt;
  return found->second;
}

Result<Trust::Turn> Trust::take_turn(const Cancelled& cancelled) {
  while (!asked(cancelled)) {
    std::unique_lock lock(mutex_);
    if (!turn_taken_) {
      turn_taken_ = true;
      return Turn(this);
    }
    turn_ended_.wait_for(lock, std::chrono::milliseconds(50));
  }
  return cancelled_error();
}

void Trust::EndTurn::operator()(Trust* trust) const {
  const std::lock_guard lock(trust->mutex_);
  trust->turn_taken_ = false;
  trust->turn_ended_.notify_one();
}

Error Trust::discard(const PackageDigest& digest) {
  forget(digest);
  const auto discarded = store_.discard(digest.str());
  if (!discarded) return discarded.error();
  return Error{ErrorCode::corrupt, "an installed runner package differed from its manifest and was removed"};
}

Result<std::shared_ptr<const Manifest>> Trust::confirm(const PackageDigest& digest,
                                                       const Cancelled& cancelled) {
  const auto arrival = ++order_;
  const auto turn = take_turn(cancelled);
  if (!turn) return turn.error();
  const auto trusted = known(digest);
  if (!trusted) return verify_now(digest, cancelled);
  if (trusted->looked_at > arrival) return trusted->manifest;
  const auto began = ++order_;
  const auto tree = store_.tree(digest);
  const auto nodes = tree ? list_tree(tree->get(), limits_, cancelled) : tree.error();
  if (!nodes && nodes.error().code == ErrorCode::cancelled) return nodes.error();
  if (!nodes || fingerprint(*nodes) != trusted->fingerprint) return verify_now(digest, cancelled);
  const std::lock_guard lock(mutex_);
  const auto found = trusted_.find(digest);
  if (found != trusted_.end()) found->second.looked_at = began;
  return trusted->manifest;
}

Result<std::shared_ptr<const Manifest>> Trust::verify(const PackageDigest& digest,
                                                      const Cancelled& cancelled) {
  const auto turn = take_turn(cancelled);
  if (!turn) return turn.error();
  return verify_now(digest, cancelled);
}

Result<std::shared_ptr<const Manifest>> Trust::verify_now(const PackageDigest& digest,
                                                          const Cancelled& cancelled) {
  const auto tree = store_.tree(digest);
  if (!tree) {
    forget(digest);
    // A package without a tree is no package; what is left of it must not stand in the way of the next one.
    const auto discarded = store_.discard(digest.str());
    if (!discarded) return discarded.error();
    return tree.error();
  }
  auto manifest = known(digest) ? known(digest)->manifest : nullptr;
  if (!manifest) {
    if (options_.shared_account) return discard(digest);
    auto stored = store_.manifest(digest, limits_.entries);
    if (!stored) return discard(digest);
    manifest = std::make_shared<const Manifest>(std::move(*stored));
  }
  auto description = describe(tree->get(), limits_, cancelled);
  if (!description && description.error().code != ErrorCode::corrupt) return description.error();
  if (!description || description->entries != manifest->entries) return discard(digest);
  const std::lock_guard lock(mutex_);
  trusted_[digest] = Trusted{manifest, std::move(description->fingerprint), 0};
  return manifest;
}

}  // namespace agent::package
