// The subset of JSON Schema that a component may use for its configuration, as docs/plugin-authors.md names
// it.
#pragma once

#include <string>
#include <vector>

#include "conform/json.hpp"

namespace rmgr::conform {

// What is wrong with the schema itself; empty if it is in the subset.
[[nodiscard]] std::string schema_problem(const Json& schema);

// Every way in which `config` does not fit a schema that is in the subset. Fills in defaults.
[[nodiscard]] std::vector<std::string> config_problems(const Json& schema, Json& config);

}  // namespace rmgr::conform
