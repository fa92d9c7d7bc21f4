// Attempts and journals for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>

#include "domain/attempt.hpp"
#include "journal/journal.hpp"

namespace agent::journal::sample {

// A plain attempt of policy "build" whose ids are made from `number`.
domain::Attempt attempt(int number);
// The same, in its final state, with nothing left to do, ended at `ended_wall_ms`.
domain::Attempt settled(int number, std::int64_t ended_wall_ms);
// Every fact filled at random, every optional one present or absent; legal for the schema, whatever the
// machine of states would say. Its runtime and slot are its own.
domain::Attempt random_attempt(int number, std::mt19937_64& random);
// The same attempt later: everything that may change is random, what is written once is only added to.
domain::Attempt changed(const domain::Attempt& before, std::mt19937_64& random);

domain::Instant instant(std::int64_t wall_ms);

}  // namespace agent::journal::sample

namespace agent::domain {
// Readable failures; the bytes of an attempt say nothing.
void PrintTo(const Attempt& attempt, std::ostream* out);
}  // namespace agent::domain
