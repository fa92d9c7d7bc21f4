#pragma once

#include <string_view>

namespace agent::workspace {

// Well-formed UTF-8 without surrogates and over-long forms.
bool is_utf8(std::string_view text);

}  // namespace agent::workspace
