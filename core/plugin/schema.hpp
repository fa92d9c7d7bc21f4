// Checks a component's configuration against the JSON Schema that its plugin carries.
//
// The subset: type (object, array, string, integer, number, boolean), properties, required,
// additionalProperties (false unless the schema says true or gives a schema), enum, minimum, maximum,
// minLength, maxLength, pattern, items, minItems, maxItems, default, description, and x-secret (the string
// must be a reference file:PATH, env:NAME or credential:NAME, never the secret itself). A schema with any
// other keyword is refused, so that no rule is silently ignored. Lengths count characters; a pattern is
// ECMAScript, is searched for, and is tried on at most 4096 bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "domain/result.hpp"

namespace agent::plugin {

// `pointer` is a JSON pointer into the configuration, "" for all of it. Messages never contain a configured
// value.
struct SchemaProblem {
  std::string pointer;
  std::string message;
  bool about_key = false;  // the key itself is wrong, not its value
  bool secret = false;     // the value may be a secret, so that its line must not be shown
};

// A reference that the configuration holds where the schema asks for a secret.
struct SecretUse {
  std::string pointer, reference;
};

struct CheckedConfig {
  std::string config;                   // with the schema's defaults filled in
  std::vector<SchemaProblem> problems;  // every broken rule, at most 100
  std::vector<SecretUse> secrets;       // at most 100
};

// An error means that the schema itself, or the JSON text, cannot be read.
domain::Result<CheckedConfig> check_config(std::string_view schema, std::string_view config);

// The configuration with defaults that create gets, or every broken rule in one message.
domain::Result<std::string> fit_config(const std::string& instance, const std::string& plugin,
                                       std::string_view schema, std::string_view config);

}  // namespace agent::plugin
