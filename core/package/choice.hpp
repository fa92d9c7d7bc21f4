// Which of the packages on offer is taken, and which digest its bytes must have.
#pragma once

#include <compare>
#include <vector>

#include "package/package.hpp"

namespace agent::package {

// 2 to 4 numbers with dots, compared as numbers; what is missing counts as 0.
struct Version {
  std::vector<std::uint64_t> numbers;
  static std::optional<Version> parse(std::string_view text);
  std::strong_ordering operator<=>(const Version& other) const;
  bool operator==(const Version& other) const { return std::is_eq(*this <=> other); }
};

struct Choice {
  Offer offer;
  PackageDigest digest;
};

using Pins = std::vector<std::pair<std::string, std::string>>;

// The newest offer of a known archive form. not_found when there is none; denied when it has no usable
// digest: the published one if it is well-formed, else the operator's pin of that version; a pin that
// contradicts a published one is refused too.
Result<Choice> choose(const std::vector<Offer>& offers, const Pins& pins);

}  // namespace agent::package
