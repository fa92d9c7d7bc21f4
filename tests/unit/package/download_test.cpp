#include "package/download.hpp"

#include "unit/package/scratch.hpp"

namespace {

using agent::package::Choice;
using agent::package::download;
using agent::package::DownloadError;
using agent::package::Fd;
using scratch::FakeSource;
using namespace agent::domain;

class Download : public scratch::Directory {
 protected:
  void SetUp() override {
    Directory::SetUp();
    for (int i = 0; i < 10'000; ++i)
      bytes_ += std::to_string(i);
    source_.offer("1.0.0", bytes_);
  }
  std::optional<DownloadError> run(std::int64_t limit = 1 << 20,
                                   const agent::package::Cancelled& cancelled = {}) {
    const auto& offer = source_.offers().front();
    const Choice choice{offer, PackageDigest(offer.sha256)};
    const Fd target(::open(at("file").c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600));
    return download(source_, choice, target.get(), limit, cancelled);
  }
  void expect_whole(const std::optional<DownloadError>& failed) {
    EXPECT_FALSE(failed.has_value()) << failed->error.message;
    EXPECT_EQ(content(at("file")), bytes_);
  }
  static void expect(const std::optional<DownloadError>& failed, ErrorCode code) {
    ASSERT_TRUE(failed.has_value());
    EXPECT_EQ(to_string(failed->error.code), to_string(code)) << failed->error.message;
  }
  std::string bytes_;
  FakeSource source_;
};

TEST_F(Download, OfAWholeFile) {
  expect_whole(run());
  EXPECT_EQ(source_.fetches, 1);
}

TEST_F(Download, GoesOnWhereItBroke) {
  source_.on_fetch(FakeSource::breaking_at(5000));
  source_.on_fetch(FakeSource::breaking_at(12'000));
  source_.on_fetch(FakeSource::breaking_at(20'000));
  expect_whole(run());
  EXPECT_EQ(source_.offsets, (std::vector<std::int64_t>{0, 5000, 12'000, 20'000}));
}

TEST_F(Download, IsResumedThreeTimesAtMost) {
  for (std::size_t i = 1; i <= 4; ++i)
    source_.on_fetch(FakeSource::breaking_at(i * 2000));
  expect(run(), ErrorCode::unreachable);
  EXPECT_EQ(source_.fetches, 4);
}

TEST_F(Download, StartsAgainWithoutAValidator) {
  source_.on_fetch(FakeSource::breaking_at(5000, ""));
  expect_whole(run());
  EXPECT_EQ(source_.offsets, (std::vector<std::int64_t>{0, 0}));
}

TEST_F(Download, FollowsASourceThatStartsAgain) {
  source_.on_fetch(FakeSource::breaking_at(5000));
  source_.on_fetch([](FakeSource&, const std::string& bytes, std::int64_t, std::string_view, auto& receiver) {
    return FakeSource::send(bytes, 0, "v2", receiver, std::string::npos, true);
  });
  expect_whole(run());
}

TEST_F(Download, StartsAgainWhenTheFileChanged) {
  source_.on_fetch(FakeSource::breaking_at(5000));
  source_.on_fetch([](FakeSource&, const std::string& bytes, std::int64_t offset, std::string_view,
                      auto& receiver) { return FakeSource::send(bytes, offset, "v2", receiver); });
  expect_whole(run());
  EXPECT_EQ(source_.offsets.back(), 0);
}

TEST_F(Download, ThatEndsEarlyWithoutAnErrorIsIncomplete) {
  source_.on_fetch([](FakeSource&, const std::string& bytes, std::int64_t offset, std::string_view,
                      auto& receiver) { return FakeSource::send(bytes, offset, "v1", receiver, 3000); });
  expect_whole(run());
  EXPECT_EQ(source_.offsets, (std::vector<std::int64_t>{0, 3000}));
}

TEST_F(Download, ThatNeverBeganIsNotResumed) {
  source_.on_fetch([](auto&&...) -> Result<void> { return Error{ErrorCode::unreachable, "no route"}; });
  expect(run(), ErrorCode::unreachable);
  EXPECT_EQ(source_.fetches, 1);
}

TEST_F(Download, WithAnotherDigestIsThrownAway) {
  source_.on_fetch([](FakeSource&, std::string bytes, std::int64_t, std::string_view, auto& receiver) {
    bytes[77] = '?';
    return FakeSource::send(bytes, 0, "v1", receiver);
  });
  const auto failed = run();
  expect(failed, ErrorCode::retry);
  EXPECT_TRUE(failed->stale_offer);
}

TEST_F(Download, StopsAtItsLimit) {
  expect(run(1000), ErrorCode::invalid);
  source_.on_fetch([](FakeSource&, const std::string& bytes, std::int64_t, std::string_view, auto& receiver) {
    auto begun = receiver.begin(-1, "", false);
    for (int i = 0; begun && i < 100; ++i)
      begun = receiver.chunk(bytes);
    return begun;
  });
  source_.offers().front().size = -1;
  expect(run(100'000), ErrorCode::invalid);
  EXPECT_LE(std::filesystem::file_size(at("file")), 100'000U);
}

TEST_F(Download, RefusesMoreThanWasAnnounced) {
  for (int i = 0; i < 4; ++i) {
    source_.on_fetch(
        [](FakeSource&, const std::string& bytes, std::int64_t, std::string_view, auto& receiver) {
          auto begun = receiver.begin(static_cast<std::int64_t>(bytes.size()), "v1", false);
          if (begun) begun = receiver.chunk(bytes + "more");
          return begun;
        });
  }
  expect(run(), ErrorCode::bad_response);
}

TEST_F(Download, RefusesAnotherSizeThanTheCatalogs) {
  source_.offers().front().size = 9;
  expect(run(), ErrorCode::bad_response);
}

TEST_F(Download, RefusesBytesBeforeTheBeginning) {
  source_.on_fetch([](FakeSource&, const std::string& bytes, std::int64_t, std::string_view, auto& receiver) {
    return receiver.chunk(bytes);
  });
  expect(run(), ErrorCode::bad_response);
}

TEST_F(Download, WorksWithoutASize) {
  source_.offers().front().size = -1;
  source_.on_fetch([](FakeSource&, const std::string& bytes, std::int64_t, std::string_view, auto& receiver) {
    auto begun = receiver.begin(-1, "", false);
    if (begun) begun = receiver.chunk(bytes);
    return begun;
  });
  expect_whole(run());
}

TEST_F(Download, ASourcesRefusalIsNotFinalAndMakesTheOfferStale) {
  for (const auto code : {ErrorCode::not_found, ErrorCode::denied, ErrorCode::invalid}) {
    source_.on_fetch([code](auto&&...) -> Result<void> { return Error{code, "gone"}; });
    const auto failed = run();
    expect(failed, ErrorCode::retry);
    EXPECT_TRUE(failed->stale_offer);
  }
}

TEST_F(Download, EndsWhenCancelled) {
  std::atomic<int> asked{0};
  expect(run(1 << 20, [&] { return ++asked > 3; }), ErrorCode::cancelled);
}

TEST_F(Download, SaysThatTheDiskIsFull) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can mount a small filesystem";
  const auto point = directory("small");
  if (std::system(("mount -t tmpfs -o size=16k none '" + point + "' 2>/dev/null").c_str()) != 0) {
    GTEST_SKIP() << "this account cannot mount a tmpfs";
  }
  const auto& offer = source_.offers().front();
  {
    const Fd target(::open(at("small/file").c_str(), O_RDWR | O_CREAT, 0600));
    expect(download(source_, {offer, PackageDigest(offer.sha256)}, target.get(), 1 << 20, {}),
           ErrorCode::full);
  }
  EXPECT_EQ(std::system(("umount '" + point + "'").c_str()), 0);
}

}  // namespace
