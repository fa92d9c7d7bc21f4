// The statements of AttemptStore, made once from the field lists.
#pragma once

#include <string>

namespace agent::journal::attempt_sql {

// Parameters: policy, definition, birth fields, life fields.
const std::string& insert();
// Parameters: life fields, then policy, definition, birth fields. Changes a row only if everything that is
// written once agrees, so that one statement is both the check and the write.
const std::string& update();
// Columns: definition, birth fields, life fields; without a condition.
const std::string& select();

}  // namespace agent::journal::attempt_sql
