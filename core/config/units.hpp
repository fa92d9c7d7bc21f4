// Durations and sizes as they are written in the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "domain/time.hpp"

namespace agent::config {

// A whole number and a unit: 500ms, 60s, 5m, 6h, 30d; a bare 0 needs none. Nothing for any other text and for
// what does not fit.
std::optional<domain::Millis> parse_duration(std::string_view text);
std::string format_duration(domain::Millis value);  // in the largest unit that fits exactly

// Bytes: a whole number and KiB, MiB, GiB or TiB; a bare 0 needs none.
std::optional<std::int64_t> parse_size(std::string_view text);

// Thousandths of a core: "2", "0.5", "1.25"; at most three digits behind the point.
std::optional<std::int64_t> parse_cpu_milli(std::string_view text);

// Nothing for text that is no decimal number without leading zeros, or does not fit.
std::optional<std::int64_t> parse_integer(std::string_view text);

}  // namespace agent::config
