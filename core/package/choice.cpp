#include "package/choice.hpp"

#include <algorithm>
#include <charconv>

#include "package/digest.hpp"

namespace agent::package {

using domain::Error;
using domain::ErrorCode;

std::optional<Version> Version::parse(std::string_view text) {
  Version version;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    std::uint64_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc{} || next - at > 9) return std::nullopt;
    version.numbers.push_back(number);
    if (next == end) break;
    if (*next != '.') return std::nullopt;
    at = next + 1;
  }
  if (version.numbers.size() < 2 || version.numbers.size() > 4) return std::nullopt;
  return version;
}

std::strong_ordering Version::operator<=>(const Version& other) const {
  for (std::size_t i = 0; i < std::max(numbers.size(), other.numbers.size()); ++i) {
    const auto mine = i < numbers.size() ? numbers[i] : 0;
    const auto theirs = i < other.numbers.size() ? other.numbers[i] : 0;
    if (mine != theirs) return mine <=> theirs;
  }
  return std::strong_ordering::equal;
}

namespace {

constexpr std::size_t kMaximumOffers = 1000;

const std::string* pin_of(const Version& version, const Pins& pins) {
  for (const auto& [pinned, digest] : pins) {
    const auto parsed = Version::parse(pinned);
    if (parsed && *parsed == version) return &digest;
  }
  return nullptr;
}

std::optional<PackageDigest> digest_of(const Offer& offer, const Version& version, const Pins& pins) {
  const auto* pin = pin_of(version, pins);
  if (!is_digest(offer.sha256)) {
    if (pin == nullptr || !is_digest(*pin)) return std::nullopt;
    return PackageDigest(*pin);
  }
  if (pin != nullptr && *pin != offer.sha256) return std::nullopt;
  return PackageDigest(offer.sha256);
}

}  // namespace

Result<Choice> choose(const std::vector<Offer>& offers, const Pins& pins) {
  const Offer* newest = nullptr;
  std::optional<Version> best;
  for (const auto& offer : offers) {
    if (&offer - offers.data() >= static_cast<std::ptrdiff_t>(kMaximumOffers)) break;
    const std::string_view name = offer.filename;
    if (!name.ends_with(".tar.gz") && !name.ends_with(".zip")) continue;
    auto version = Version::parse(offer.version);
    if (!version) continue;
    const bool newer = !best || *version > *best;
    const bool same_but_usable =
        best && *version == *best && !digest_of(*newest, *best, pins) && digest_of(offer, *version, pins);
    if (!newer && !same_but_usable) continue;
    newest = &offer;
    best = std::move(version);
  }
  if (newest == nullptr) {
    return Error{ErrorCode::not_found,
                 "the package source offers no runner package for this operating system and architecture"};
  }
  const auto digest = digest_of(*newest, *best, pins);
  if (!digest) {
    return Error{ErrorCode::denied,
                 "runner package " + newest->version +
                     " has no usable SHA-256 digest: none that is well-formed is published, or "
                     "it contradicts the pinned one; pin the digest of this version"};
  }
  return Choice{*newest, *digest};
}

}  // namespace agent::package
