// The shape of the journal on disk.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace agent::journal {

// Marks the file as ours ("rmJ" and a fixed byte), so that another program's database is never taken for a
// journal.
inline constexpr std::int64_t kApplicationId = 0x726d4a01;

// An attempt that still asks for something, as SQL. The index of load_active and its query share this text,
// because SQLite uses a partial index only for a condition that it recognizes.
inline constexpr std::string_view kActive =
    "(state <> 'cleaned' OR deregistration_owed <> 0 OR replacement_wanted <> 0)";
// The opposite, for pruning.
inline constexpr std::string_view kSettled =
    "(state = 'cleaned' AND deregistration_owed = 0 AND replacement_wanted = 0)";

// Schema 1, with every closed vocabulary as a CHECK made from domain::to_string. Released schemas are frozen
// by the fixtures of the tests: once a vocabulary grows, this text must stay as it was and a step must
// follow.
std::string schema_1();

// Step i brings version i to i + 1.
std::vector<std::string> migration_steps();

}  // namespace agent::journal
