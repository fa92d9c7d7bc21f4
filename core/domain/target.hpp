// What runners serve: one repository or one organization.
#pragma once

#include <string>
#include <string_view>

#include "domain/result.hpp"

namespace agent::domain {

enum class TargetKind { repository, organization };

// "owner/repo" or "owner". Compared case-folded; printed as it was written.
class Target {
 public:
  Target() = default;
  // Letters, digits, '-', '_' and '.'; at most 100 characters a part; no empty part; at most one slash.
  static Result<Target> parse(std::string_view text);
  [[nodiscard]] TargetKind kind() const;
  [[nodiscard]] const std::string& str() const { return text_; }
  [[nodiscard]] const std::string& key() const { return key_; }  // case-folded
  bool operator==(const Target& other) const { return key_ == other.key_; }
  auto operator<=>(const Target& other) const { return key_ <=> other.key_; }

 private:
  std::string text_;
  std::string key_;
};

}  // namespace agent::domain
