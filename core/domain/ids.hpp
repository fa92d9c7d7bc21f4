// Strong ids: two ids of different kinds never compare or convert.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "domain/result.hpp"

namespace agent::domain {

// A name of one kind. Tag makes the kind.
template <class Tag>
class Name {
 public:
  Name() = default;
  explicit Name(std::string value) : value_(std::move(value)) {}
  [[nodiscard]] const std::string& str() const { return value_; }
  [[nodiscard]] bool empty() const { return value_.empty(); }
  auto operator<=>(const Name&) const =
      default;  // NOLINT(modernize-use-nullptr): a false positive of clang-tidy

 private:
  std::string value_;
};

// A number of one kind.
template <class Tag>
class Number {
 public:
  Number() = default;
  explicit Number(std::int64_t value) : value_(value) {}
  [[nodiscard]] std::int64_t get() const { return value_; }
  auto operator<=>(const Number&) const =
      default;  // NOLINT(modernize-use-nullptr): a false positive of clang-tidy

 private:
  std::int64_t value_ = 0;
};

using AttemptId = Name<struct AttemptIdTag>;            // UUIDv4, lower case with dashes
using Generation = Name<struct GenerationTag>;          // 32 hex digits, minted with the attempt's row
using PolicyName = Name<struct PolicyNameTag>;          // the operator's name of a policy; its id
using InstanceName = Name<struct InstanceNameTag>;      // a configured plugin instance
using InstallationId = Name<struct InstallationIdTag>;  // minted in the journal
using EnvironmentId = Name<struct EnvironmentIdTag>;    // a provider's name of what it made for an attempt
using BootId = Name<struct BootIdTag>;                  // the kernel's id of this boot
using PackageDigest = Name<struct PackageDigestTag>;    // SHA-256 of a package archive, 64 hex digits

using RunnerId = Number<struct RunnerIdTag>;  // GitHub's id of a registered runner
using JobId = Number<struct JobIdTag>;        // GitHub's id of a job

// Parses a UUID in its canonical lower-case form, version 4.
Result<AttemptId> parse_attempt_id(std::string_view text);
// "runner-manager-<attempt id>": the one name under which an attempt is ever registered. At most 64
// characters.
std::string runner_name(const AttemptId& attempt);
// The attempt of a runner name of ours; an error for every other name.
Result<AttemptId> attempt_of_runner_name(std::string_view name);
// The first 12 hex digits: the name of an ephemeral runtime directory. Short, because a 260-character path
// limit exists.
std::string runtime_directory_name(const AttemptId& attempt);

}  // namespace agent::domain

template <class Tag>
struct std::hash<agent::domain::Name<Tag>> {
  std::size_t operator()(const agent::domain::Name<Tag>& name) const noexcept {
    return std::hash<std::string>{}(name.str());
  }
};
template <class Tag>
struct std::hash<agent::domain::Number<Tag>> {
  std::size_t operator()(const agent::domain::Number<Tag>& number) const noexcept {
    return std::hash<std::int64_t>{}(number.get());
  }
};
