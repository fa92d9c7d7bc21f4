// A Log that keeps what was written, for tests.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "observe/log.hpp"

namespace agent::testing {

struct Record {
  observe::Level level = observe::Level::info;
  observe::Event event = observe::Event::daemon_started;
  std::map<observe::Field, observe::Value> fields;

  // The field's text, or nothing if it is absent or no text.
  [[nodiscard]] std::optional<std::string> text(observe::Field field) const {
    const auto found = fields.find(field);
    if (found == fields.end()) return std::nullopt;
    const auto* value = std::get_if<std::string>(&found->second);
    return value == nullptr ? std::nullopt : std::optional<std::string>(*value);
  }
  [[nodiscard]] std::optional<std::int64_t> number(observe::Field field) const {
    const auto found = fields.find(field);
    if (found == fields.end()) return std::nullopt;
    const auto* value = std::get_if<std::int64_t>(&found->second);
    return value == nullptr ? std::nullopt : std::optional<std::int64_t>(*value);
  }
};

// Thread-safe. Values are kept as they were given, unscrubbed: a test can see what a caller handed over.
class RecordingLog final : public observe::Log {
 public:
  void write(observe::Level level, observe::Event event, observe::Fields fields) override {
    Record record{level, event, {}};
    for (const auto& [field, value] : fields)
      record.fields[field] = value;
    const std::lock_guard<std::mutex> lock(mutex_);
    records_.push_back(std::move(record));
  }

  [[nodiscard]] std::vector<Record> records() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return records_;
  }
  [[nodiscard]] std::vector<Record> of(observe::Event event) const {
    std::vector<Record> found;
    for (Record& record : records()) {
      if (record.event == event) found.push_back(std::move(record));
    }
    return found;
  }
  [[nodiscard]] std::size_t count(observe::Event event) const { return of(event).size(); }

 private:
  mutable std::mutex mutex_;
  std::vector<Record> records_;
};

}  // namespace agent::testing
