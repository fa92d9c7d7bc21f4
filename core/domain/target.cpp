#include "domain/target.hpp"

#include <algorithm>

namespace agent::domain {
namespace {

constexpr std::size_t kMaximumPart = 100;

bool is_part_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
         c == '.';
}

// "." and ".." would be walked when the target becomes a piece of an URL or of a path.
bool is_part(std::string_view part) {
  return !part.empty() && part.size() <= kMaximumPart && part != "." && part != ".." &&
         std::all_of(part.begin(), part.end(), is_part_character);
}

char folded(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

Result<Target> Target::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const bool legal = slash == std::string_view::npos
                         ? is_part(text)
                         : is_part(text.substr(0, slash)) && is_part(text.substr(slash + 1));
  if (!legal) {
    return Error{
        ErrorCode::invalid,
        "a target is `owner/repository` or `owner`, each of at most 100 letters, digits, '-', '_' or "
        "'.'; write it without the host and without a slash at its end",
        {}};
  }
  Target target;
  target.text_ = text;
  target.key_.resize(text.size());
  std::transform(text.begin(), text.end(), target.key_.begin(), folded);
  return target;
}

TargetKind Target::kind() const {
  return text_.find('/') == std::string::npos ? TargetKind::organization : TargetKind::repository;
}

}  // namespace agent::domain
