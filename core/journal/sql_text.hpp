// SQL text from the field lists.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace agent::journal {

// "a, b, c"
std::string joined(const std::vector<std::string>& parts, std::string_view separator = ", ");
// "?1, ?2, … ?count"
std::string parameters(std::size_t count);

}  // namespace agent::journal
