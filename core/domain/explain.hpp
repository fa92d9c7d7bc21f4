// The limiting factors and refusals in words for an operator: what each means, and what to do about it.
#pragma once

#include <string_view>

#include "domain/labels.hpp"
#include "domain/vocabulary.hpp"

namespace agent::domain {

struct Words {
  std::string_view meaning;  // one sentence
  std::string_view remedy;   // one sentence; empty if there is nothing to do
};

Words explain(LimitingFactor factor);
Words explain(JobRefusal refusal);

}  // namespace agent::domain
