// Which plugins a host of a version takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "rmgr/abi/base.h"

namespace agent::plugin {

struct AbiVersion {
  std::uint16_t major = RMGR_ABI_MAJOR;
  std::uint16_t minor = RMGR_ABI_MINOR;
  bool operator==(const AbiVersion&) const = default;
};
[[nodiscard]] std::string to_string(AbiVersion version);

// Why a plugin that was built with `built` and needs at least the host minor `needed` cannot be used by
// `host`: one sentence with a remedy. Nothing if it can.
[[nodiscard]] std::optional<std::string> refuse_version(AbiVersion built, std::uint16_t needed,
                                                        AbiVersion host);

}  // namespace agent::plugin
