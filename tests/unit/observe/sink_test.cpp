#include "observe/sink.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <thread>

#include "support/recording_log.hpp"
#include "support/temporary.hpp"
#include "unit/observe/vocabulary.hpp"

namespace agent::observe {
namespace {

class SinkTest : public ::testing::Test {
 protected:
  SinkTest() { file_ = directory_ + "/daemon.log"; }

  [[nodiscard]] static std::vector<std::string> lines(const std::string& path) {
    std::ifstream in(path);
    std::vector<std::string> all;
    for (std::string line; std::getline(in, line);)
      all.push_back(line);
    return all;
  }
  [[nodiscard]] std::unique_ptr<LogSink> open(LogOptions options = {}) const {
    options.file = file_;
    auto log = make_log(options);
    EXPECT_TRUE(log.ok()) << (log.ok() ? "" : log.error().message);
    return log.ok() ? std::move(log).value() : nullptr;
  }

  const testkit::TemporaryDirectory temporary_{0700};
  const std::string directory_ = temporary_.path();
  std::string file_;
};

TEST_F(SinkTest, EveryEventWithEveryFieldIsPrinted) {
  const auto log = open({Level::debug, "", true});
  const std::string digest(64, 'b');
  for (const Event event : testing::events()) {
    for (const Field field : testing::fields()) {
      log->write(Level::info, event, {{field, field == Field::digest ? digest : std::string("idle-7")}});
    }
  }
  const auto all = lines(file_);
  ASSERT_EQ(all.size(), testing::events().size() * testing::fields().size());
  std::size_t i = 0;
  for (const Event event : testing::events()) {
    for (const Field field : testing::fields()) {
      const std::string value = field == Field::digest ? digest : "idle-7";
      const std::string tail = std::string(R"(,"level":"info","event":")") + std::string(to_string(event)) +
                               "\",\"" + std::string(to_string(field)) + "\":\"" + value + "\"}";
      EXPECT_TRUE(all[i].ends_with(tail)) << all[i];
      EXPECT_TRUE(
          std::regex_search(all[i], std::regex(R"re(^\{"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")re")));
      ++i;
    }
  }
}

TEST_F(SinkTest, ValuesKeepTheirTypeAndAreScrubbed) {
  const auto log = open();
  log->write(Level::warning, Event::effect_failed,
             {{Field::tries, std::int64_t{-3}},
              {Field::out_of_memory, true},
              {Field::message, std::string("say \"no\"\n\x01 ghp_abcdefghij \\")},
              {Field::digest, std::string("ghp_abcdefgh")},
              {Field::plugin, std::string(64, 'c')}});
  ASSERT_EQ(lines(file_).size(), 1U);
  EXPECT_TRUE(lines(file_)[0].ends_with(
      R"("tries":-3,"out_of_memory":true,"message":"say \"no\"\\n\\x01 [redacted] \\","digest":"[redacted]","plugin":"[redacted]"})"))
      << lines(file_)[0];
}

TEST_F(SinkTest, LongValuesAreCut) {
  const auto log = open();
  std::string text;
  while (text.size() < 100'000)
    text += "wörter ";
  log->write(Level::info, Event::plugin_message, {{Field::message, text}});
  ASSERT_EQ(lines(file_).size(), 1U);
  EXPECT_LT(lines(file_)[0].size(), kLongestValue + 200);
  EXPECT_TRUE(lines(file_)[0].ends_with("...\"}"));
}

TEST_F(SinkTest, LevelsBelowAreNotWritten) {
  const auto log = open({Level::warning, "", true});
  log->write(Level::info, Event::pass_finished, {});
  log->write(Level::error, Event::pass_failed, {});
  ASSERT_EQ(lines(file_).size(), 1U);
  EXPECT_TRUE(lines(file_)[0].ends_with(R"("level":"error","event":"pass_failed"})"));
}

TEST_F(SinkTest, ReadableLines) {
  const auto log = open({Level::info, "", false});
  log->write(Level::info, Event::attempt_granted,
             {{Field::policy, std::string("web")}, {Field::message, std::string("a b")}});
  EXPECT_TRUE(lines(file_)[0].ends_with(" info    attempt_granted policy=web message=\"a b\""))
      << lines(file_)[0];
}

TEST_F(SinkTest, FileIsPrivateAppendedAndReopened) {
  { open()->write(Level::info, Event::daemon_started, {}); }
  struct stat status {};
  ASSERT_EQ(::stat(file_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  const auto log = open();
  log->write(Level::info, Event::daemon_stopping, {});
  std::filesystem::rename(file_, file_ + ".1");
  ASSERT_TRUE(log->reopen().ok());
  log->write(Level::info, Event::daemon_stopped, {});
  EXPECT_EQ(lines(file_ + ".1").size(), 2U);
  EXPECT_EQ(lines(file_).size(), 1U);
}

TEST_F(SinkTest, FailedReopenKeepsTheOldFile) {
  const auto log = open();
  std::filesystem::rename(file_, file_ + ".1");
  std::filesystem::create_directory(file_);
  EXPECT_FALSE(log->reopen().ok());
  log->write(Level::info, Event::daemon_stopped, {});
  EXPECT_EQ(lines(file_ + ".1").size(), 1U);
}

TEST_F(SinkTest, LinksAndOddFilesAreRefused) {
  std::filesystem::create_symlink(directory_ + "/elsewhere", file_);
  const auto link = make_log({Level::info, file_, true});
  ASSERT_FALSE(link.ok());
  EXPECT_NE(link.error().message.find("a link stands in its place"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/elsewhere"));
  EXPECT_FALSE(make_log({Level::info, directory_, true}).ok());
  const std::string fifo = directory_ + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_FALSE(make_log({Level::info, fifo, true}).ok());
}

TEST_F(SinkTest, ThreadsNeverMixLines) {
  const auto log = open();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&log] {
      for (int i = 0; i < 200; ++i)
        log->write(Level::info, Event::attempt_state_changed, {{Field::state, std::string("busy")}});
    });
  }
  for (auto& thread : threads)
    thread.join();
  const auto all = lines(file_);
  EXPECT_EQ(all.size(), 800U);
  for (const auto& line : all)
    EXPECT_TRUE(line.starts_with("{\"time\"") && line.ends_with("\"busy\"}")) << line;
}

TEST(RecordingLog, KeepsWhatWasWritten) {
  agent::testing::RecordingLog log;
  log.write(Level::info, Event::pass_finished,
            {{Field::queued, std::int64_t{3}}, {Field::policy, std::string("web")}});
  ASSERT_EQ(log.count(Event::pass_finished), 1U);
  EXPECT_EQ(log.of(Event::pass_finished)[0].number(Field::queued), 3);
  EXPECT_EQ(log.of(Event::pass_finished)[0].text(Field::policy), "web");
  EXPECT_FALSE(log.of(Event::pass_finished)[0].text(Field::queued));
}

}  // namespace
}  // namespace agent::observe
