#include "package/tree.hpp"

#include "package/copy.hpp"
#include "package/parallel.hpp"
#include "unit/package/scratch.hpp"

namespace {

using agent::package::describe;
using agent::package::Fd;
using agent::package::Kind;
using agent::package::Manifest;
using namespace agent::domain;

class Tree : public scratch::Directory {
 protected:
  void SetUp() override {
    Directory::SetUp();
    directory("tree");
    directory("tree/bin");
    file("tree/bin/big", std::string(900'000, 'b'));
    file("tree/bin/small", "s");
    directory("tree/none");
    ASSERT_EQ(::symlink("bin/small", at("tree/link").c_str()), 0);
    root_ = Fd(::open(at("tree").c_str(), O_RDONLY | O_DIRECTORY));
    directory("copy");
    copy_ = Fd(::open(at("copy").c_str(), O_RDONLY | O_DIRECTORY));
  }
  [[nodiscard]] std::string print() const {
    const auto nodes = agent::package::list_tree(root_.get(), {}, {});
    return nodes ? agent::package::fingerprint(*nodes) : "unreadable";
  }
  [[nodiscard]] Manifest manifest() const {
    auto described = describe(root_.get(), {}, {});
    EXPECT_TRUE(described.ok());
    Manifest made;
    made.entries = std::move(described->entries);
    return made;
  }
  void expect_mismatch(const Manifest& expected) {
    const auto copied = agent::package::copy_tree(root_.get(), expected, copy_.get(), {});
    ASSERT_FALSE(copied.ok());
    EXPECT_EQ(to_string(copied.error().code), to_string(ErrorCode::corrupt)) << copied.error().message;
  }
  Fd root_, copy_;
};

TEST_F(Tree, IsDescribedEntryByEntry) {
  const auto entries = manifest().entries;
  ASSERT_EQ(entries.size(), 5U);
  EXPECT_EQ(entries[0].path, "bin");
  EXPECT_EQ(entries[1].path, "bin/big");
  EXPECT_EQ(entries[1].size, 900'000);
  EXPECT_EQ(entries[1].content, scratch::digest_of(std::string(900'000, 'b')));
  EXPECT_EQ(entries[3].path, "link");
  EXPECT_EQ(entries[3].kind, Kind::link);
  EXPECT_EQ(entries[3].content, "bin/small");
  EXPECT_EQ(entries[4].kind, Kind::directory);
}

TEST_F(Tree, EveryChangeChangesTheFingerprint) {
  const std::vector<std::pair<const char*, std::function<void()>>> changes{
      {"content", [&] { file("tree/bin/small", "t"); }},
      {"mode", [&] { ::chmod(at("tree/bin/small").c_str(), 0600); }},
      {"mode of a directory", [&] { ::chmod(at("tree/none").c_str(), 0700); }},
      {"new file", [&] { file("tree/none/new", ""); }},
      {"removed file", [&] { ::unlink(at("tree/none/new").c_str()); }},
      {"another name", [&] { ::rename(at("tree/bin/small").c_str(), at("tree/bin/smaller").c_str()); }},
      {"another link",
       [&] {
         ::unlink(at("tree/link").c_str());
         ASSERT_EQ(::symlink("bin/big", at("tree/link").c_str()), 0);
       }},
      {"another inode with the same bytes", [&] {
         file("tree/bin/fresh", std::string(900'000, 'b'));
         ::rename(at("tree/bin/fresh").c_str(), at("tree/bin/big").c_str());
       }}};
  auto before = print();
  EXPECT_EQ(print(), before);
  for (const auto& [what, change] : changes) {
    ::usleep(20'000);  // the clock of change times is as coarse as a timer tick
    change();
    const auto after = print();
    EXPECT_NE(after, before) << what;
    before = after;
  }
}

TEST_F(Tree, ReadingLeavesTheFingerprint) {
  const auto before = print();
  ASSERT_TRUE(agent::package::copy_tree(root_.get(), manifest(), copy_.get(), {}).ok());
  EXPECT_EQ(print(), before);
}

TEST_F(Tree, RefusesSpecialFilesAndBounds) {
  agent::package::TreeLimits limits;
  limits.entries = 4;
  EXPECT_EQ(describe(root_.get(), limits, {}).error().code, ErrorCode::corrupt);
  limits = {};
  limits.bytes = 900'000;
  EXPECT_EQ(describe(root_.get(), limits, {}).error().code, ErrorCode::corrupt);
  ASSERT_EQ(::mkfifo(at("tree/fifo").c_str(), 0600), 0);
  EXPECT_EQ(describe(root_.get(), {}, {}).error().code, ErrorCode::corrupt);
}

TEST_F(Tree, CopyIsEqual) {
  const auto expected = manifest();
  const auto copied = agent::package::copy_tree(root_.get(), expected, copy_.get(), {});
  ASSERT_TRUE(copied.ok()) << copied.error().message;
  EXPECT_EQ(copied->entries, 5);
  EXPECT_EQ(copied->bytes, 900'001);
  const auto again = describe(copy_.get(), {}, {});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->entries, expected.entries);
}

TEST_F(Tree, CopySeesEveryDifference) {
  const auto expected = manifest();
  const std::vector<std::function<void(Manifest&)>> differences{
      [](Manifest& m) { m.entries[1].content[0] = m.entries[1].content[0] == '0' ? '1' : '0'; },
      [](Manifest& m) { m.entries[1].size = 1; },
      [](Manifest& m) { m.entries[1].mode = 0600; },
      [](Manifest& m) { m.entries[2].path = "bin/missing"; },
      [](Manifest& m) { m.entries[3].content = "bin/big"; },
      [](Manifest& m) { m.entries[3].content = "bin/smal"; },
      [](Manifest& m) { m.entries[4].mode = 0700; },
      [](Manifest& m) { m.entries[4].path = "nowhere"; },
      [](Manifest& m) {
        m.entries[3] = {"link", Kind::file, 0777, 9, std::string(64, '0')};
      }};
  for (const auto& difference : differences) {
    auto changed = expected;
    difference(changed);
    expect_mismatch(changed);
    ASSERT_TRUE(agent::package::remove_content(copy_.get()).ok());
  }
}

TEST_F(Tree, CopyOverwritesNothing) {
  file("kept", "kept");
  ASSERT_EQ(::symlink("../kept", at("copy/link").c_str()), 0);
  EXPECT_FALSE(agent::package::copy_tree(root_.get(), manifest(), copy_.get(), {}).ok());
  EXPECT_EQ(content(at("kept")), "kept");
}

TEST_F(Tree, CopyEndsWhenCancelled) {
  const auto copied = agent::package::copy_tree(root_.get(), manifest(), copy_.get(), [] { return true; });
  ASSERT_FALSE(copied.ok());
  EXPECT_EQ(copied.error().code, ErrorCode::cancelled);
}

TEST_F(Tree, IsRemovedWholeHoweverDeep) {
  Fd here(::open(at("copy").c_str(), O_RDONLY | O_DIRECTORY));
  for (int i = 0; i < 300; ++i) {
    ASSERT_EQ(::mkdirat(here.get(), "d", 0755), 0);
    here = Fd(::openat(here.get(), "d", O_RDONLY | O_DIRECTORY));
  }
  ASSERT_EQ(::symlinkat(at("tree").c_str(), here.get(), "out"), 0);
  ASSERT_TRUE(agent::package::remove_content(copy_.get()).ok());
  EXPECT_TRUE(std::filesystem::is_empty(at("copy")));
  EXPECT_EQ(content(at("tree/bin/small")), "s");
}

TEST(Parallel, DoesEachJobOnceAndStopsAtAFailure) {
  std::vector<std::atomic<int>> done(1000);
  ASSERT_TRUE(agent::package::run_parallel(1000, [&]() -> agent::package::Job {
                return [&](std::size_t i) -> Result<void> {
                  ++done[i];
                  return {};
                };
              }).ok());
  for (const auto& times : done)
    EXPECT_EQ(times, 1);
  std::atomic<int> ran{0};
  const auto failed = agent::package::run_parallel(100'000, [&]() -> agent::package::Job {
    return [&](std::size_t i) -> Result<void> {
      ++ran;
      if (i == 10) return Error{ErrorCode::full, "ten"};
      return {};
    };
  });
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, ErrorCode::full);
  EXPECT_LT(ran, 100'000);
  EXPECT_TRUE(agent::package::run_parallel(0, [] { return agent::package::Job(); }).ok());
  const auto thrown = agent::package::run_parallel(2, []() -> agent::package::Job {
    return [](std::size_t) -> Result<void> { throw std::runtime_error("planted"); };
  });
  EXPECT_EQ(thrown.error().code, ErrorCode::internal);
}

}  // namespace
