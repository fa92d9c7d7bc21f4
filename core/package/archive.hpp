// Unpacking an archive that somebody else made into an empty directory, without letting it out of there.
#pragma once

#include <cstdint>
#include <string_view>

#include "domain/result.hpp"
#include "package/package.hpp"

namespace agent::package {

struct UnpackLimits {
  std::int64_t entries = 200'000;
  std::int64_t bytes = std::int64_t{8} << 30;
  std::int64_t ratio = 200;
  std::size_t name = 255;   // bytes of one component
  std::size_t path = 1024;  // bytes of a whole path or link target
  int depth = 64;
};

// What makes an archive unsafe. The word is all that a message says; names stay out of it.
enum class Violation {
  absolute_name,
  escaping_name,
  unusable_name,
  name_too_long,
  too_deep,
  special_file,
  workspace_name,
  duplicate,
  through_a_link,
  escaping_link,
  bad_hard_link,
  too_many_entries,
  too_large,
  ratio_too_high,
  unreadable,
};
std::string_view to_string(Violation violation);
domain::Error unsafe(Violation violation);

struct Unpacked {
  std::int64_t entries = 0;
  std::int64_t bytes = 0;
};

// tar, tar.gz or zip from the start of the open file `archive`. Owners, set-id bits and times of the archive
// are ignored; directories are always usable and files always readable for their owner. invalid for a
// violation; what was unpacked so far is then left for the caller to remove.
Result<Unpacked> unpack(int archive, int destination, const UnpackLimits& limits, const Cancelled& cancelled);

}  // namespace agent::package
