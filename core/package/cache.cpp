#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <tuple>

#include "package/copy.hpp"
#include "package/digest.hpp"
#include "package/install.hpp"

namespace agent::package {

using domain::Error;
using domain::ErrorCode;

namespace {

using Clock = std::chrono::steady_clock;
using Key = std::tuple<std::string, std::string, std::string>;  // source, os, architecture

constexpr std::chrono::milliseconds kPoll{50};
// How long a catalog that failed is spared while its last answer stands in.
constexpr domain::Millis kCatalogPause{5 * 60 * 1000};

Key key_of(const Query& query) { return {query.source, query.os, query.architecture}; }

bool is_terminal(ErrorCode code) {
  return code == ErrorCode::denied || code == ErrorCode::invalid || code == ErrorCode::not_found;
}

// What the catalog said, and until when that counts.
struct Answer {
  Choice choice;
  Clock::time_point good_until;
};

// One install that others wait for.
struct Flight {
  std::optional<Result<Installed>> answer;
};

class DiskCache final : public Cache {
 public:
  DiskCache(Options options, Store store)
      : options_(std::move(options)), store_(std::move(store)), trust_(store_, options_) {}

  Result<Installed> acquire(Source& source, const Query& query, const Cancelled& cancelled) override;
  Result<Copied> materialize(const PackageDigest& digest, const std::string& destination,
                             const Cancelled& cancelled) override;
  Result<std::int64_t> prune(const std::set<PackageDigest>& leased, const Cancelled& cancelled) override;
  void refresh(const Query& query) override;

 private:
  using Lock = std::unique_lock<std::mutex>;

  Result<Installed> fly(Flight& flight, Source& source, const Query& query, const Cancelled& cancelled);
  Result<Installed> lead(Source& source, const Query& query, const Cancelled& cancelled);
  Result<Choice> choice_for(Source& source, const Query& query, const Cancelled& cancelled);
  Result<Copied> copy(const PackageDigest& digest, int destination, const Cancelled& cancelled);
  std::optional<Installed> ready(const Key& key);
  void remember(const Key& key, const Choice& choice, domain::Millis interval);
  void outdate(const Key& key);
  Result<std::set<std::string>> superfluous(const std::set<PackageDigest>& leased);

  const Options options_;
  const Store store_;
  Trust trust_;

  std::mutex mutex_;  // of everything below; never held while anything blocks
  std::condition_variable changed_;
  bool installing_ = false;
  int copying_ = 0;
  std::map<Key, std::shared_ptr<Flight>> flights_;
  std::map<Key, Answer> answers_;
  std::map<PackageDigest, Error> unsafe_;  // archives that must not be downloaded again
};

std::optional<Installed> DiskCache::ready(const Key& key) {
  const auto answer = answers_.find(key);
  if (answer == answers_.end() || Clock::now() >= answer->second.good_until) return std::nullopt;
  const auto& choice = answer->second.choice;
  if (!trust_.trusts(choice.digest)) return std::nullopt;
  return Installed{choice.digest, choice.offer.version, false};
}

void DiskCache::remember(const Key& key, const Choice& choice, domain::Millis interval) {
  const std::lock_guard lock(mutex_);
  answers_.insert_or_assign(key, Answer{choice, Clock::now() + interval});
}

void DiskCache::outdate(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto answer = answers_.find(key);
  if (answer != answers_.end()) answer->second.good_until = Clock::time_point::min();
}

void DiskCache::refresh(const Query& query) { outdate(key_of(query)); }

Result<Installed> DiskCache::acquire(Source& source, const Query& query, const Cancelled& cancelled) {
  const auto key = key_of(query);
  const auto flight = std::make_shared<Flight>();
  std::shared_ptr<const Flight> joined;
  while (!asked(cancelled)) {
    Lock lock(mutex_);
    if (joined && joined->answer) {
      const auto& answer = *joined->answer;
      if (answer) return Installed{answer->digest, answer->version, false};
      if (!is_terminal(answer.error().code) && answer.error().code != ErrorCode::cancelled) return answer;
      joined.reset();  // that was about another's request: this one finds out for itself
    }
    if (!joined) {
      if (auto installed = ready(key)) return *installed;
      const auto other = flights_.find(key);
      if (other != flights_.end()) joined = other->second;
    }
    if (!joined && !installing_) {
      installing_ = true;
      flights_[key] = flight;
      lock.unlock();
      return fly(*flight, source, query, cancelled);
    }
    changed_.wait_for(lock, kPoll);
  }
  return cancelled_error();
}

Result<Installed> DiskCache::fly(Flight& flight, Source& source, const Query& query,
                                 const Cancelled& cancelled) {
  auto answer = lead(source, query, cancelled);
  const Lock lock(mutex_);
  flight.answer = answer;
  flights_.erase(key_of(query));
  installing_ = false;
  changed_.notify_all();
  return answer;
}

Result<Choice> DiskCache::choice_for(Source& source, const Query& query, const Cancelled& cancelled) {
  const auto key = key_of(query);
  std::optional<Choice> last;
  {
    const Lock lock(mutex_);
    const auto answer = answers_.find(key);
    if (answer != answers_.end()) {
      if (Clock::now() < answer->second.good_until) return answer->second.choice;
      last = answer->second.choice;
    }
  }
  const auto offers = source.catalog(query);
  if (asked(cancelled)) return cancelled_error();
  if (!offers) {
    if (!last || !trust_.trusts(last->digest)) return softened(offers.error());
    remember(key, *last, std::min(kCatalogPause, options_.check_interval));
    return *last;
  }
  auto choice = choose(*offers, options_.pins);
  if (choice) remember(key, *choice, options_.check_interval);
  return choice;
}

Result<Installed> DiskCache::lead(Source& source, const Query& query, const Cancelled& cancelled) try {
  const auto choice = choice_for(source, query, cancelled);
  if (!choice) return choice.error();
  {
    const Lock lock(mutex_);
    const auto known = unsafe_.find(choice->digest);
    if (known != unsafe_.end()) return known->second;
  }
  Installed installed{choice->digest, choice->offer.version, false};
  const auto confirmed = trust_.confirm(choice->digest, cancelled);
  if (confirmed) return installed;
  const auto code = confirmed.error().code;
  if (code != ErrorCode::not_found && code != ErrorCode::corrupt) return confirmed.error();
  const auto failed = install(source, *choice, query, options_, store_, trust_, cancelled);
  if (failed) {
    if (failed->stale_offer) outdate(key_of(query));
    if (failed->unsafe_archive) {
      const Lock lock(mutex_);
      unsafe_.insert_or_assign(choice->digest, failed->error);
    }
    return failed->error;
  }
  installed.downloaded = true;
  return installed;
} catch (const std::exception& e) {
  return Error{ErrorCode::internal, std::string("installing a runner package failed: ") + e.what()};
}

Result<Copied> DiskCache::materialize(const PackageDigest& digest, const std::string& destination,
                                      const Cancelled& cancelled) try {
  if (!is_digest(digest.str()))
    return Error{ErrorCode::invalid, "a runner package is named by its SHA-256 digest"};
  const auto directory = open_directory(destination);
  if (!directory) return directory.error();
  const auto empty = is_empty(directory->get());
  if (!empty) return empty.error();
  if (!*empty) return Error{ErrorCode::exists, "the runtime is not empty, so no package is copied into it"};
  {
    const Lock lock(mutex_);
    ++copying_;
  }
  const auto leave = [this](void*) {
    const Lock lock(mutex_);
    --copying_;
  };
  const std::unique_ptr<void, decltype(leave)> copying(this, leave);
  auto copied = copy(digest, directory->get(), cancelled);
  if (copied) return copied;
  const auto undone = remove_content(directory->get());
  return undone ? copied.error() : undone.error();
} catch (const std::exception& e) {
  return Error{ErrorCode::internal, std::string("copying a runner package failed: ") + e.what()};
}

Result<Copied> DiskCache::copy(const PackageDigest& digest, int destination, const Cancelled& cancelled) {
  const auto again = [](std::string_view why) {
    return Error{ErrorCode::retry, std::string(why) + "; acquire the runner package again"};
  };
  const auto manifest = trust_.confirm(digest, cancelled);
  if (!manifest) {
    const auto& error = manifest.error();
    if (error.code == ErrorCode::corrupt || error.code == ErrorCode::not_found) return again(error.message);
    return error;
  }
  const auto tree = store_.tree(digest);
  if (!tree) return again(tree.error().message);
  auto copied = copy_tree(tree->get(), **manifest, destination, cancelled);
  if (copied && options_.shared_account) {
    const auto seen =
        describe(destination, TreeLimits{options_.max_entries * 2, options_.max_tree_bytes}, cancelled);
    if (!seen && seen.error().code != ErrorCode::corrupt) return seen.error();
    if (!seen || seen->entries != (*manifest)->entries) return again("a copy was changed while it was made");
  }
  if (copied || copied.error().code != ErrorCode::corrupt) return copied;
  // The copy is no proof against its origin: only a full look is.
  const auto verified = trust_.verify(digest, cancelled);
  if (!verified && verified.error().code == ErrorCode::cancelled) return verified.error();
  return again(verified ? "a copy differed from its manifest" : verified.error().message);
}

// Everything that is neither leased, nor the last answer of a catalog, nor (where none answered yet) the
// newest that is installed.
Result<std::set<std::string>> DiskCache::superfluous(const std::set<PackageDigest>& leased) {
  const auto names = store_.names();
  if (!names) return names.error();
  std::map<Key, std::pair<Version, std::string>> newest;
  for (const auto& name : *names) {
    if (!is_digest(name)) continue;
    const auto manifest = store_.manifest(PackageDigest(name), options_.max_entries * 2);
    if (!manifest) continue;
    auto version = Version::parse(manifest->version);
    const Key key{manifest->source, manifest->os, manifest->architecture};
    const auto best = newest.find(key);
    if (!version || (best != newest.end() && *version <= best->second.first)) continue;
    newest.insert_or_assign(key, std::pair{std::move(*version), name});
  }
  const Lock lock(mutex_);
  std::set<std::string> gone(names->begin(), names->end());
  for (const auto& digest : leased)
    gone.erase(digest.str());
  for (const auto& [key, answer] : answers_)
    gone.erase(answer.choice.digest.str());
  for (const auto& [key, best] : newest) {
    if (!answers_.contains(key)) gone.erase(best.second);
  }
  return gone;
}

Result<std::int64_t> DiskCache::prune(const std::set<PackageDigest>& leased, const Cancelled& cancelled) {
  {
    const Lock lock(mutex_);
    if (installing_ || copying_ > 0) {
      return Error{ErrorCode::busy, "runner packages are in use; pruning waits for another time"};
    }
    installing_ = true;
  }
  const auto end = [this](void*) {
    const Lock lock(mutex_);
    installing_ = false;
    changed_.notify_all();
  };
  const std::unique_ptr<void, decltype(end)> pruning(this, end);
  const auto gone = superfluous(leased);
  if (!gone) return gone.error();
  std::int64_t removed = 0;
  for (const auto& name : *gone) {
    if (cancelled && cancelled()) break;
    trust_.forget(PackageDigest(name));
    const auto discarded = store_.discard(name);
    if (!discarded) return discarded.error();
    ++removed;
  }
  return removed;
}

}  // namespace

Result<std::unique_ptr<Cache>> Cache::open(Options options) {
  for (const auto& [version, digest] : options.pins) {
    if (!Version::parse(version) || !is_digest(digest)) {
      return Error{ErrorCode::invalid,
                   "a pinned runner package needs a version of 2 to 4 numbers and a SHA-256 "
                   "digest of 64 lower-case hex digits: " +
                       version};
    }
  }
  auto store = Store::open(options.root);
  if (!store) return store.error();
  return std::unique_ptr<Cache>(std::make_unique<DiskCache>(std::move(options), std::move(*store)));
}

}  // namespace agent::package
