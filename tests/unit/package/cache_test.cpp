#include <thread>

#include "unit/package/scratch.hpp"

namespace {

using agent::package::Cache;
using agent::package::Installed;
using agent::package::Options;
using agent::package::PackageDigest;
using agent::package::Query;
using scratch::FakeSource;
using namespace agent::domain;

class PackageCache : public scratch::Directory {
 protected:
  void SetUp() override {
    Directory::SetUp();
    options_.root = at("cache");
    archive_ = scratch::make_archive(scratch::runner_members());
  }
  std::unique_ptr<Cache> open() const {
    auto cache = Cache::open(options_);
    EXPECT_TRUE(cache.ok()) << cache.error().message;
    return cache.ok() ? std::move(*cache) : nullptr;
  }
  static Query query(const std::string& target = "o/r") { return {target, "linux", "x64"}; }
  Result<Installed> acquire(Cache& cache, const Query& wanted = query()) {
    return cache.acquire(source_, wanted, {});
  }
  [[nodiscard]] std::string tree(const PackageDigest& digest) const {
    return at("cache/packages/" + digest.str() + "/tree");
  }
  std::string runtime() { return directory("runtime-" + std::to_string(++runtimes_)); }
  static void expect(const Error& error, ErrorCode code) {
    EXPECT_EQ(to_string(error.code), to_string(code)) << error.message;
  }
  void expect_nothing_staged() const { EXPECT_EQ(count(at("cache/staging")), 0); }

  Options options_;
  FakeSource source_;
  std::string archive_;
  int runtimes_ = 0;
};

TEST_F(PackageCache, InstallsAndMaterializes) {
  source_.offer("1.0.0", archive_);
  const auto cache = open();
  const auto installed = acquire(*cache);
  ASSERT_TRUE(installed.ok()) << installed.error().message;
  EXPECT_EQ(installed->version, "1.0.0");
  EXPECT_EQ(installed->digest.str(), scratch::digest_of(archive_));
  EXPECT_TRUE(installed->downloaded);
  expect_nothing_staged();
  const auto to = runtime();
  const auto copied = cache->materialize(installed->digest, to, {});
  ASSERT_TRUE(copied.ok()) << copied.error().message;
  EXPECT_EQ(copied->entries, 9);
  EXPECT_EQ(content(to + "/bin/Runner.Listener"), "listener 1.0.0");
  EXPECT_EQ(mode_of(to + "/bin/Runner.Listener"), 0755U);
  EXPECT_EQ(mode_of(to + "/externals"), 0700U);
  EXPECT_EQ(std::filesystem::read_symlink(to + "/externals/node20/npm"), "node");
}

TEST_F(PackageCache, UnpacksInTheChild) {
  options_.unpacker = std::string(RMGR_BIN_DIR) + "/rmgr-unpack";
  ASSERT_TRUE(exists(options_.unpacker)) << "build rmgr-unpack first";
  source_.offer("1.0.0", archive_);
  const auto cache = open();
  const auto installed = acquire(*cache);
  ASSERT_TRUE(installed.ok()) << installed.error().message;
  EXPECT_TRUE(cache->materialize(installed->digest, runtime(), {}).ok());
  source_.offer("2.0.0", scratch::make_archive({scratch::link_to("out", "/etc")}));
  cache->refresh(query());
  expect(acquire(*cache).error(), ErrorCode::invalid);
  expect_nothing_staged();
}

TEST_F(PackageCache, IsClosedToOthers) {
  open();
  for (const char* name : {"cache", "cache/packages", "cache/staging"})
    EXPECT_EQ(mode_of(at(name)), 0700U);
  ASSERT_EQ(::chmod(at("cache/packages").c_str(), 0777), 0);
  open();
  EXPECT_EQ(mode_of(at("cache/packages")), 0700U);
}

TEST_F(PackageCache, RefusesARootThatIsALinkOrOfAnotherAccount) {
  directory("real");
  ASSERT_EQ(::symlink("real", at("cache").c_str()), 0);
  EXPECT_FALSE(Cache::open(options_).ok());
  options_.root = "relative";
  EXPECT_FALSE(Cache::open(options_).ok());
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  ASSERT_EQ(::chown(at("real").c_str(), 65534, 65534), 0);
  options_.root = at("real");
  expect(Cache::open(options_).error(), ErrorCode::denied);
}

TEST_F(PackageCache, RefusesMalformedPins) {
  options_.pins = {{"1.0.0", "abc"}};
  expect(Cache::open(options_).error(), ErrorCode::invalid);
  options_.pins = {{"one", std::string(64, 'a')}};
  expect(Cache::open(options_).error(), ErrorCode::invalid);
}

TEST_F(PackageCache, AsksTheCatalogOnceForAllTargets) {
  source_.offer("1.0.0", archive_);
  const auto cache = open();
  ASSERT_TRUE(acquire(*cache, query("o/one")).ok());
  const auto second = acquire(*cache, query("o/two"));
  ASSERT_TRUE(second.ok());
  EXPECT_FALSE(second->downloaded);
  EXPECT_EQ(source_.catalogs, 1);
  EXPECT_EQ(source_.fetches, 1);
}

TEST_F(PackageCache, AsksForEachSourceAndArchitecture) {
  source_.offer("1.0.0", archive_);
  const auto cache = open();
  ASSERT_TRUE(acquire(*cache, {"o/r", "linux", "x64", "one"}).ok());
  ASSERT_TRUE(acquire(*cache, {"o/r", "linux", "arm64", "one"}).ok());
  ASSERT_TRUE(acquire(*cache, {"o/r", "linux", "x64", "two"}).ok());
  EXPECT_EQ(source_.catalogs, 3);
  EXPECT_EQ(source_.fetches, 1);
}

TEST_F(PackageCache, AsksAgainAfterTheIntervalAndWhenTold) {
  source_.offer("1.0.0", archive_);
  const auto cache = open();
  ASSERT_TRUE(acquire(*cache).ok());
  source_.offer("1.1.0", scratch::make_archive(scratch::runner_members("1.1.0")));
  EXPECT_EQ(acquire(*cache)->version, "1.0.0");
  cache->refresh(query());
  EXPECT_EQ(acquire(*cache)->version, "1.1.0");
  EXPECT_EQ(source_.catalogs, 2);
  options_.root = at("other");
  options_.check_interval = Millis{0};
  const auto eager = open();
  ASSERT_TRUE(acquire(*eager).ok());
  ASSERT_TRUE(acquire(*eager).ok());
  EXPECT_EQ(source_.catalogs, 4);
}

TEST_F(PackageCache, TheLastAnswerStandsInForACatalogThatFails) {
  source_.offer("1.0.0", archive_);
  const auto cache = open();
  ASSERT_TRUE(acquire(*cache).ok());
  cache->refresh(query());
  source_.fail_catalog(ErrorCode::unreachable);
  EXPECT_TRUE(acquire(*cache).ok());
  EXPECT_TRUE(acquire(*cache).ok());
  EXPECT_EQ(source_.catalogs, 2);
}

TEST_F(PackageCache, ErrorsOfTheCatalogAreNotFinal) {
  const auto cache = open();
  for (const auto code : {ErrorCode::not_found, ErrorCode::denied, ErrorCode::invalid}) {
    source_.fail_catalog(code);
    expect(acquire(*cache).error(), ErrorCode::retry);
  }
  source_.fail_catalog(ErrorCode::unauthorized);
  expect(acquire(*cache).error(), ErrorCode::unauthorized);
}

TEST_F(PackageCache, TerminalAnswers) {
  const auto cache = open();
  expect(acquire(*cache).error(), ErrorCode::not_found);
  source_.offer("1.0.0", archive_, false);
  expect(acquire(*cache).error(), ErrorCode::denied);
  EXPECT_EQ(source_.fetches, 0);
  source_.offers().clear();
  source_.offer("1.0.0", scratch::make_archive({{"../chosen", "x"}}));
  expect(acquire(*cache).error(), ErrorCode::invalid);
  expect(acquire(*cache).error(), ErrorCode::invalid);
  EXPECT_EQ(source_.fetches, 1);  // an unsafe archive is not downloaded twice
  expect_nothing_staged();
  EXPECT_EQ(count(at("cache/packages")), 0);
}

TEST_F(PackageCache, APinStandsInForAMissingDigest) {
  source_.offer("1.0.0", archive_, false);
  options_.pins = {{"1.0.0", scratch::digest_of(archive_)}};
  EXPECT_TRUE(acquire(*open()).ok());
  options_.root = at("other");
  options_.pins = {{"1.0.0", std::string(64, 'a')}};
  expect(acquire(*open()).error(), ErrorCode::retry);
}

TEST_F(PackageCache, AWrongDigestKeepsNothingAndIsTriedAgain) {
  source_.offer("1.0.0", archive_);
  source_.on_fetch([](FakeSource&, const std::string&, std::int64_t, std::string_view, auto& receiver) {
    auto begun = receiver.begin(-1, "", false);
    if (begun) begun = receiver.chunk("Not Found");
    return begun;
  });
  source_.offers().front().size = -1;
  const auto cache = open();
  expect(acquire(*cache).error(), ErrorCode::retry);
  expect_nothing_staged();
  EXPECT_EQ(count(at("cache/packages")), 0);
  EXPECT_TRUE(acquire(*cache).ok());
}

TEST_F(PackageCache, LeftoversOfAnInterruptedInstallAreRemovedAtOpen) {
  open();
  directory("outside");
  file("outside/kept", "kept");
  directory("cache/staging/0123456789abcdef");
  directory("cache/staging/0123456789abcdef/tree");
  file("cache/staging/0123456789abcdef/archive", "half");
  ASSERT_EQ(::symlink(at("outside").c_str(), at("cache/staging/0123456789abcdef/tree/link").c_str()), 0);
  ASSERT_EQ(::symlink(at("outside").c_str(), at("cache/staging/link").c_str()), 0);
  open();
  expect_nothing_staged();
  EXPECT_EQ(content(at("outside/kept")), "kept");
}

TEST_F(PackageCache, ConcurrentLaunchesShareOneInstall) {
  source_.offer("1.0.0", archive_);
  const auto cache = open();
  std::atomic<int> good{0}, downloaded{0};
  std::vector<std::jthread> launches;
  for (int i = 0; i < 8; ++i) {
    launches.emplace_back([&, i] {
      const auto installed = acquire(*cache, query("o/" + std::to_string(i)));
      good += installed.ok() ? 1 : 0;
      downloaded += installed.ok() && installed->downloaded ? 1 : 0;
    });
  }
  launches.clear();
  EXPECT_EQ(good, 8);
  EXPECT_EQ(downloaded, 1);
  EXPECT_EQ(source_.catalogs, 1);
  EXPECT_EQ(source_.fetches, 1);
}

// A caller that asks a second time whether it is cancelled has joined the wait in between.
struct Waiters {
  std::atomic<int> joined{0};
  agent::package::Cancelled watch() {
    return [this, asked = std::make_shared<std::atomic<int>>(0)] {
      if (++*asked == 2) ++joined;
      return false;
    };
  }
  void expect(int callers) const {
    for (int i = 0; i < 4000 && joined < callers; ++i)
      ::usleep(5000);
    EXPECT_GE(joined, callers);
  }
};

TEST_F(PackageCache, AFailureIsSharedWithThoseWhoWait) {
  source_.offer("1.0.0", archive_);
  const auto cache = open();
  Waiters waiters;
  source_.on_fetch([&](auto&&...) -> Result<void> {
    waiters.expect(3);
    return Error{ErrorCode::unreachable, "planted"};
  });
  std::atomic<int> failed{0};
  std::vector<std::jthread> launches;
  launches.emplace_back([&] { failed += acquire(*cache).ok() ? 0 : 1; });
  while (source_.fetches == 0)
    ::usleep(1000);
  for (int i = 0; i < 3; ++i) {
    launches.emplace_back([&] { failed += cache->acquire(source_, query(), waiters.watch()).ok() ? 0 : 1; });
  }
  launches.clear();
  EXPECT_EQ(failed, 4);
  EXPECT_EQ(source_.fetches, 1);
}

TEST_F(PackageCache, ATerminalFailureIsNotShared) {
  source_.offer("1.0.0", archive_, false);
  const auto cache = open();
  std::vector<std::jthread> launches;
  std::atomic<int> denied{0};
  for (int i = 0; i < 3; ++i) {
    launches.emplace_back([&] {
      const auto installed = acquire(*cache);
      denied += !installed.ok() && installed.error().code == ErrorCode::denied ? 1 : 0;
    });
  }
  launches.clear();
  EXPECT_EQ(denied, 3);
  EXPECT_EQ(source_.catalogs, 3);
}

TEST_F(PackageCache, AWaitCanBeCancelledAndALeadersCancellationIsItsOwn) {
  source_.offer("1.0.0", archive_);
  const auto cache = open();
  std::atomic<bool> stop_leader{false};
  source_.on_fetch([&](FakeSource&, auto&&...) -> Result<void> {
    while (!stop_leader)
      ::usleep(1000);
    return Error{ErrorCode::cancelled, "stopped"};
  });
  Result<Installed> led = Installed{};
  std::jthread leader([&] { led = cache->acquire(source_, query(), [&] { return stop_leader.load(); }); });
  while (source_.fetches == 0)
    ::usleep(1000);
  std::atomic<int> asked{0};
  expect(cache->acquire(source_, query(), [&] { return ++asked > 2; }).error(), ErrorCode::cancelled);
  Result<Installed> followed = Installed{};
  Waiters waiters;
  std::jthread follower([&] { followed = cache->acquire(source_, query(), waiters.watch()); });
  waiters.expect(1);
  stop_leader = true;
  leader.join();
  follower.join();
  expect(led.error(), ErrorCode::cancelled);
  EXPECT_TRUE(followed.ok());
}

TEST_F(PackageCache, TrustsATreeAfterARestartOnlyOnceVerified) {
  source_.offer("1.0.0", archive_);
  const auto digest = acquire(*open())->digest;
  const auto again = acquire(*open());
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->downloaded);
  file("cache/packages/" + digest.str() + "/tree/bin/Runner.Listener", "listener 6.6.6");
  const auto cache = open();
  const auto repaired = acquire(*cache);
  ASSERT_TRUE(repaired.ok());
  EXPECT_TRUE(repaired->downloaded);
  const auto to = runtime();
  ASSERT_TRUE(cache->materialize(digest, to, {}).ok());
  EXPECT_EQ(content(to + "/bin/Runner.Listener"), "listener 1.0.0");
}

TEST_F(PackageCache, AManifestThatOthersCouldHaveWrittenIsNotTrusted) {
  source_.offer("1.0.0", archive_);
  const auto package = at("cache/packages/" + acquire(*open())->digest.str());
  const std::vector<std::function<void()>> spoils{
      [&] { ::chmod((package + "/manifest").c_str(), 0666); }, [&] { ::chmod(package.c_str(), 0777); },
      [&] { ::unlink((package + "/manifest").c_str()); },
      [&] { std::ofstream(package + "/manifest") << "runner-manager-manifest 1\n"; },
      [&] { ASSERT_EQ(::link((package + "/manifest").c_str(), at("alias").c_str()), 0); }};
  for (const auto& spoil : spoils) {
    spoil();
    const auto installed = acquire(*open());
    ASSERT_TRUE(installed.ok()) << installed.error().message;
    EXPECT_TRUE(installed->downloaded);
  }
}

TEST_F(PackageCache, WithASharedAccountNothingFromBeforeIsTrusted) {
  source_.offer("1.0.0", archive_);
  ASSERT_TRUE(acquire(*open()).ok());
  options_.shared_account = true;
  const auto cache = open();
  const auto installed = acquire(*cache);
  ASSERT_TRUE(installed.ok());
  EXPECT_TRUE(installed->downloaded);
  EXPECT_TRUE(cache->materialize(installed->digest, runtime(), {}).ok());
}

TEST_F(PackageCache, AnEditedTreeIsSeenBeforeTheCopyAndDiscarded) {
  source_.offer("1.0.0", archive_);
  const std::vector<std::function<void(const std::string&)>> edits{
      [](const std::string& tree) { std::ofstream(tree + "/bin/Runner.Listener") << "listener 6.6.6"; },
      [](const std::string& tree) { std::ofstream(tree + "/bin/extra") << "x"; },
      [](const std::string& tree) { std::filesystem::remove(tree + "/run.sh"); },
      [](const std::string& tree) { std::filesystem::remove_all(tree); },
      [](const std::string& tree) { ::chmod((tree + "/run.sh").c_str(), 04755); }};
  const auto cache = open();
  for (const auto& edit : edits) {
    const auto installed = acquire(*cache);
    ASSERT_TRUE(installed.ok());
    EXPECT_TRUE(installed->downloaded);
    edit(tree(installed->digest));
    const auto to = runtime();
    expect(cache->materialize(installed->digest, to, {}).error(), ErrorCode::retry);
    EXPECT_TRUE(std::filesystem::is_empty(to));
    EXPECT_FALSE(exists(tree(installed->digest)));
  }
}

TEST_F(PackageCache, ATouchedTreeWithTheSameContentIsKept) {
  source_.offer("1.0.0", archive_);
  const auto cache = open();
  const auto digest = acquire(*cache)->digest;
  ASSERT_EQ(::utimensat(AT_FDCWD, (tree(digest) + "/run.sh").c_str(), nullptr, 0), 0);
  EXPECT_TRUE(cache->materialize(digest, runtime(), {}).ok());
  EXPECT_EQ(source_.fetches, 1);
}

TEST_F(PackageCache, MaterializesIntoAnEmptyRealDirectoryOnly) {
  source_.offer("1.0.0", archive_);
  const auto cache = open();
  const auto digest = acquire(*cache)->digest;
  const auto full = runtime();
  std::ofstream(full + "/kept") << "kept";
  expect(cache->materialize(digest, full, {}).error(), ErrorCode::exists);
  EXPECT_EQ(content(full + "/kept"), "kept");
  EXPECT_FALSE(cache->materialize(digest, at("missing"), {}).ok());
  directory("real");
  ASSERT_EQ(::symlink("real", at("link").c_str()), 0);
  EXPECT_FALSE(cache->materialize(digest, at("link"), {}).ok());
  EXPECT_TRUE(std::filesystem::is_empty(at("real")));
  expect(cache->materialize(PackageDigest("../../etc"), runtime(), {}).error(), ErrorCode::invalid);
  expect(cache->materialize(PackageDigest(std::string(64, 'a')), runtime(), {}).error(), ErrorCode::retry);
}

TEST_F(PackageCache, ACancelledCopyLeavesTheDestinationEmpty) {
  source_.offer("1.0.0", archive_);
  const auto cache = open();
  const auto digest = acquire(*cache)->digest;
  for (const int after : {0, 1, 5, 8}) {
    std::atomic<int> asked{0};
    const auto to = runtime();
    expect(cache->materialize(digest, to, [&] { return asked++ >= after; }).error(), ErrorCode::cancelled);
    EXPECT_TRUE(std::filesystem::is_empty(to));
  }
}

TEST_F(PackageCache, HardLinksBecomeFilesOfTheirOwn) {
  source_.offer("1.0.0", scratch::make_archive({{"one", "same"}, scratch::hard_link_to("two", "one")}));
  const auto cache = open();
  const auto to = runtime();
  ASSERT_TRUE(cache->materialize(acquire(*cache)->digest, to, {}).ok());
  struct stat info {};
  ASSERT_EQ(::stat((to + "/two").c_str(), &info), 0);
  EXPECT_EQ(info.st_nlink, 1U);
  EXPECT_EQ(content(to + "/two"), "same");
}

TEST_F(PackageCache, ManyCopiesAtOnce) {
  source_.offer("1.0.0", archive_);
  const auto cache = open();
  const auto digest = acquire(*cache)->digest;
  std::vector<std::string> runtimes;
  for (int i = 0; i < 8; ++i)
    runtimes.push_back(runtime());
  std::atomic<int> good{0};
  std::vector<std::jthread> copies;
  for (const auto& to : runtimes) {
    copies.emplace_back([&] { good += cache->materialize(digest, to, {}).ok() ? 1 : 0; });
  }
  copies.clear();
  EXPECT_EQ(good, 8);
  for (const auto& to : runtimes)
    EXPECT_EQ(content(to + "/run.sh"), "#!/bin/sh\n");
}

TEST_F(PackageCache, PruneKeepsTheNewestAndTheLeased) {
  const auto cache = open();
  std::vector<PackageDigest> digests;
  for (const std::string& version : std::vector<std::string>{"1.9.0", "1.10.0", "1.2.0"}) {
    source_.offers().clear();
    source_.offer(version, scratch::make_archive(scratch::runner_members(version)));
    cache->refresh(query());
    digests.push_back(acquire(*cache)->digest);
  }
  directory("cache/packages/rubbish");
  // The last answer counts as the newest, whatever its number.
  auto pruned = cache->prune({digests[0]}, {});
  ASSERT_TRUE(pruned.ok());
  EXPECT_EQ(*pruned, 2);
  EXPECT_TRUE(exists(tree(digests[0])));
  EXPECT_FALSE(exists(tree(digests[1])));
  EXPECT_TRUE(exists(tree(digests[2])));
  EXPECT_EQ(*cache->prune({digests[0]}, {}), 0);
  // After a restart, before any answer, the highest number does.
  EXPECT_EQ(*open()->prune({}, {}), 1);
  EXPECT_TRUE(exists(tree(digests[0])));
  EXPECT_FALSE(exists(tree(digests[2])));
  expect_nothing_staged();
}

TEST_F(PackageCache, PruneIsBusyWhileOneInstalls) {
  source_.offer("1.0.0", archive_);
  const auto cache = open();
  std::atomic<bool> go{false};
  source_.on_fetch(
      [&](FakeSource&, const std::string& bytes, std::int64_t, std::string_view, auto& receiver) {
        while (!go)
          ::usleep(1000);
        return FakeSource::send(bytes, 0, "v1", receiver);
      });
  std::jthread launch([&] { EXPECT_TRUE(acquire(*cache).ok()); });
  while (source_.fetches == 0)
    ::usleep(1000);
  expect(cache->prune({}, {}).error(), ErrorCode::busy);
  go = true;
  launch.join();
  EXPECT_EQ(*cache->prune({}, {}), 0);
}

}  // namespace
