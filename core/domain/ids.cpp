#include "domain/ids.hpp"

namespace agent::domain {
namespace {

constexpr std::string_view kRunnerPrefix = "runner-manager-";
constexpr std::size_t kUuidLength = 36;
constexpr std::size_t kVersionAt = 14;
constexpr std::size_t kVariantAt = 19;
constexpr std::size_t kDirectoryDigits = 12;

bool is_dash_position(std::size_t at) { return at == 8 || at == 13 || at == 18 || at == 23; }

bool is_lower_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

bool is_uuid4(std::string_view text) {
  if (text.size() != kUuidLength) return false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (is_dash_position(at) ? text[at] != '-' : !is_lower_hex(text[at])) return false;
  }
  const char variant = text[kVariantAt];
  return text[kVersionAt] == '4' && (variant == '8' || variant == '9' || variant == 'a' || variant == 'b');
}

}  // namespace

Result<AttemptId> parse_attempt_id(std::string_view text) {
  // The text is not repeated: it may come from outside and be anything.
  if (!is_uuid4(text)) {
    return Error{
        ErrorCode::invalid,
        "this is no attempt id: an attempt id is a version 4 UUID in lower case with dashes; copy it "
        "from `runner-manager attempts`",
        {}};
  }
  return AttemptId{std::string{text}};
}

std::string runner_name(const AttemptId& attempt) { return std::string{kRunnerPrefix} + attempt.str(); }

Result<AttemptId> attempt_of_runner_name(std::string_view name) {
  if (!name.starts_with(kRunnerPrefix)) {
    return Error{ErrorCode::invalid, "the runner was not named by this agent: it is left alone", {}};
  }
  name.remove_prefix(kRunnerPrefix.size());
  if (!is_uuid4(name)) {
    return Error{
        ErrorCode::invalid, "the runner carries this agent's prefix but no attempt id: it is left alone", {}};
  }
  return AttemptId{std::string{name}};
}

std::string runtime_directory_name(const AttemptId& attempt) {
  std::string digits;
  digits.reserve(kDirectoryDigits);
  for (const char c : attempt.str()) {
    if (digits.size() == kDirectoryDigits) break;
    if (c != '-') digits.push_back(c);
  }
  return digits;
}

}  // namespace agent::domain
