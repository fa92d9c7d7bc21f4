#include "observe/sink.hpp"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>

#include <chrono>
#include <ctime>
#include <mutex>

#include "observe/file.hpp"
#include "observe/text.hpp"

namespace agent::observe {
namespace {

constexpr std::size_t kLongestInput = 64 * 1024;  // of one value, before it is scrubbed

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::debug: return spdlog::level::debug;
    case Level::info: return spdlog::level::info;
    case Level::warning: return spdlog::level::warn;
    case Level::error: return spdlog::level::err;
  }
  return spdlog::level::info;
}

std::string now_text() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  const std::time_t seconds = static_cast<std::time_t>(millis / 1000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, millis % 1000);
}

// A SHA-256 digest is exactly what scrubbing takes for a secret; where one is expected it is printed.
bool is_digest(std::string_view text) {
  if (text.starts_with("sha256:")) text.remove_prefix(7);
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string printable(Field field, const std::string& text) {
  if (field == Field::digest && is_digest(text)) return text;
  return shorten(scrub(std::string_view(text).substr(0, kLongestInput)), kLongestValue);
}

std::string value_text(Field field, const Value& value, bool json) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  const std::string text = printable(field, std::get<std::string>(value));
  const bool bare = !json && !text.empty() && text.find_first_of(" \"=\\") == std::string::npos;
  return bare ? text : json_quote(text);
}

std::string json_line(Level level, Event event, const Fields& fields) {
  std::string line = fmt::format(R"({{"time":"{}","level":"{}","event":"{}")", now_text(), to_string(level),
                                 to_string(event));
  for (const auto& [field, value] : fields) {
    line += fmt::format(R"(,"{}":{})", to_string(field), value_text(field, value, true));
  }
  return line + "}";
}

std::string readable_line(Level level, Event event, const Fields& fields) {
  std::string line = fmt::format("{} {:7} {}", now_text(), to_string(level), to_string(event));
  for (const auto& [field, value] : fields) {
    line += fmt::format(" {}={}", to_string(field), value_text(field, value, false));
  }
  return line;
}

// base_sink's mutex covers append and reopen.
class FileSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit FileSink(LogFile file) : file_(std::move(file)) {}
  void replace(LogFile file) {
    const std::lock_guard<std::mutex> lock(mutex_);
    file_ = std::move(file);
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (lost_ > 0 && !file_.append(fmt::format(R"({{"time":"{}","lost_lines":{}}})", now_text(), lost_))) {
      ++lost_;
      return;
    }
    lost_ = file_.append({message.payload.data(), message.payload.size()}) ? 0 : 1;
  }
  void flush_() override {}

  LogFile file_;
  std::int64_t lost_ = 0;
};

class SpdlogSink final : public LogSink {
 public:
  SpdlogSink(LogOptions options, std::shared_ptr<FileSink> sink)
      : options_(std::move(options)), sink_(std::move(sink)), logger_("runner-manager", sink_) {
    logger_.set_level(to_spdlog(options_.level));
    logger_.set_error_handler([](const std::string&) {});  // its own report would bypass scrubbing
  }

  void write(Level level, Event event, Fields fields) override {
    if (!logger_.should_log(to_spdlog(level))) return;
    const std::string line =
        options_.json ? json_line(level, event, fields) : readable_line(level, event, fields);
    logger_.log(to_spdlog(level), spdlog::string_view_t(line.data(), line.size()));
  }

  domain::Result<void> reopen() override {
    auto file = LogFile::open(options_.file);
    if (!file) return file.error();
    sink_->replace(std::move(*file));
    return {};
  }

 private:
  LogOptions options_;
  std::shared_ptr<FileSink> sink_;
  spdlog::logger logger_;
};

}  // namespace

domain::Result<std::unique_ptr<LogSink>> make_log(const LogOptions& options) {
  auto file = LogFile::open(options.file);
  if (!file) return file.error();
  return std::unique_ptr<LogSink>(
      std::make_unique<SpdlogSink>(options, std::make_shared<FileSink>(std::move(*file))));
}

}  // namespace agent::observe
