// A small JSON value, so that the suite depends on nothing but the standard library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rmgr::conform {

class Json {
 public:
  enum class Kind { null, boolean, integer, number, text, array, object };
  struct Member;

  Json() = default;
  static Json boolean(bool value);
  static Json integer(std::int64_t value);
  static Json text(std::string_view value);
  static Json array();
  static Json object();
  // Nothing for what is no JSON, repeats a key, or nests deeper than 32 levels.
  static std::optional<Json> parse(std::string_view text);

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] bool is(Kind kind) const { return kind_ == kind; }
  // The value of another kind is false, 0 or empty.
  [[nodiscard]] bool as_bool() const { return is(Kind::boolean) && number_ != 0; }
  [[nodiscard]] std::int64_t as_integer() const { return is(Kind::integer) ? integer_ : 0; }
  [[nodiscard]] double as_number() const {
    return is(Kind::integer) ? static_cast<double>(integer_) : is(Kind::number) ? number_ : 0;
  }
  [[nodiscard]] const std::string& as_text() const { return text_; }
  [[nodiscard]] const std::vector<Json>& items() const { return items_; }
  [[nodiscard]] const std::vector<Member>& members() const { return members_; }
  [[nodiscard]] const Json* find(std::string_view key) const;
  // The member, or a null value.
  [[nodiscard]] const Json& at(std::string_view key) const;
  Json& set(std::string_view key, Json value);
  void erase(std::string_view key);
  void push(Json value) { items_.push_back(std::move(value)); }

  [[nodiscard]] std::string dump() const;
  bool operator==(const Json& other) const;

 private:
  friend class JsonReader;
  void dump_to(std::string& out) const;

  Kind kind_ = Kind::null;
  std::int64_t integer_ = 0;
  double number_ = 0;
  std::string text_;
  std::vector<Json> items_;
  std::vector<Member> members_;
};

struct Json::Member {
  std::string key;
  Json value;
};

// Valid UTF-8 without overlong forms and surrogates.
[[nodiscard]] bool is_utf8(std::string_view text);

// One line that is safe to print: what is no UTF-8 or a control character becomes a question mark.
[[nodiscard]] std::string printable(std::string_view text, std::size_t most = 500);

}  // namespace rmgr::conform
