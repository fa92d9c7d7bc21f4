// How values of the domain become columns and come back. A "field list" is a function template that names
// each field once; it is walked by ColumnNames (for the SQL text), Binder (to write) and Reader (to read), so
// that the three cannot disagree.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "domain/attempt.hpp"
#include "journal/sqlite.hpp"

namespace agent::journal {

template <class T>
concept Word = std::is_enum_v<T>;

// Each moment is three columns: NAME_wall_ms, NAME_boot_ms, NAME_boot_id.
class ColumnNames {
 public:
  template <class T>
  void operator()(std::string_view name, const T&) {
    add(name, static_cast<T*>(nullptr));
  }
  template <class T, class Fields>
  void group(const std::optional<T>&, Fields fields) {
    const T sample{};
    fields(*this, sample);
  }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  template <class T>
  void add(std::string_view name, T*) {
    names_.emplace_back(name);
  }
  void add(std::string_view name, domain::Instant*) {
    for (const char* part : {"_wall_ms", "_boot_ms", "_boot_id"})
      names_.push_back(std::string{name} + part);
  }
  template <class T>
  void add(std::string_view name, std::optional<T>*) {
    add(name, static_cast<T*>(nullptr));
  }

  std::vector<std::string> names_;
};

class Binder {
 public:
  explicit Binder(sqlite::Statement& statement) : statement_(statement) {}

  template <class T>
  void operator()(std::string_view, const T& value) {
    put(value);
  }
  // An absent group is all null.
  template <class T, class Fields>
  void group(const std::optional<T>& value, Fields fields) {
    if (value) return fields(*this, *value);
    const T sample{};
    absent_ = true;
    fields(*this, sample);
    absent_ = false;
  }

 private:
  template <class T>
  void leaf(const T& value) {
    if (absent_) {
      statement_.bind_null();
    } else {
      statement_.bind(value);
    }
  }
  void put(std::int64_t value) { leaf(value); }
  // SQLite has no unsigned 64-bit integers; the bits are kept.
  void put(std::uint64_t value) { leaf(static_cast<std::int64_t>(value)); }
  void put(bool value) { leaf(value); }
  void put(const std::string& value) { leaf(value); }
  void put(domain::Millis value) { leaf(std::int64_t{value.count()}); }
  void put(const domain::Target& value) { leaf(value.str()); }
  template <class Tag>
  void put(const domain::Name<Tag>& value) {
    leaf(value.str());
  }
  template <class Tag>
  void put(const domain::Number<Tag>& value) {
    leaf(value.get());
  }
  template <Word T>
  void put(T value) {
    leaf(to_string(value));
  }
  void put(const domain::Instant& value) {
    put(value.wall_ms);
    put(value.boot_ms);
    put(value.boot_id);
  }
  template <class T>
  void put(const std::optional<T>& value) {
    if (value) return put(*value);
    const bool before = std::exchange(absent_, true);
    put(T{});
    absent_ = before;
  }

  sqlite::Statement& statement_;
  bool absent_ = false;
};

// Reads from column `first` on. A word that no vocabulary knows is a problem, never a default.
class Reader {
 public:
  Reader(const sqlite::Statement& row, int first) : row_(row), next_(first) {}

  template <class T>
  void operator()(std::string_view name, T& value) {
    get(name, value);
  }
  template <class T, class Fields>
  void group(std::optional<T>& value, Fields fields) {
    const bool present = !row_.is_null(next_);
    T read{};
    const bool before = std::exchange(skip_, !present);
    fields(*this, read);
    skip_ = before;
    if (present) value = std::move(read);
  }
  // The first column whose content means nothing.
  [[nodiscard]] const std::optional<std::string>& problem() const { return problem_; }

 private:
  void get(std::string_view, std::int64_t& value) { value = row_.integer(next_++); }
  void get(std::string_view, std::uint64_t& value) {
    value = static_cast<std::uint64_t>(row_.integer(next_++));
  }
  void get(std::string_view, bool& value) { value = row_.integer(next_++) != 0; }
  void get(std::string_view, std::string& value) { value = row_.text(next_++); }
  void get(std::string_view, domain::Millis& value) { value = domain::Millis{row_.integer(next_++)}; }
  void get(std::string_view name, domain::Target& value) {
    auto target = domain::Target::parse(row_.text(next_++));
    if (!target) return fail(name);
    value = std::move(*target);
  }
  template <class Tag>
  void get(std::string_view, domain::Name<Tag>& value) {
    value = domain::Name<Tag>{row_.text(next_++)};
  }
  template <class Tag>
  void get(std::string_view, domain::Number<Tag>& value) {
    value = domain::Number<Tag>{row_.integer(next_++)};
  }
  template <Word T>
  void get(std::string_view name, T& value) {
    const auto word = domain::parse<T>(row_.text(next_++));
    if (!word) return fail(name);
    value = *word;
  }
  void get(std::string_view name, domain::Instant& value) {
    get(name, value.wall_ms);
    get(name, value.boot_ms);
    get(name, value.boot_id);
  }
  template <class T>
  void get(std::string_view name, std::optional<T>& value) {
    const bool present = !row_.is_null(next_);
    T read{};
    const bool before = std::exchange(skip_, skip_ || !present);
    get(name, read);
    skip_ = before;
    if (present) value = std::move(read);
  }
  void fail(std::string_view name) {
    if (!skip_ && !problem_) problem_ = std::string{name};
  }

  const sqlite::Statement& row_;
  int next_ = 0;
  bool skip_ = false;
  std::optional<std::string> problem_;
};

}  // namespace agent::journal
