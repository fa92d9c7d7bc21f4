// What the readers of the parts share. Only sources include it: the JSON library is heavy.
#pragma once

#include <nlohmann/json.hpp>
#include <utility>

namespace native {

template <class T>
T get_or(const nlohmann::json& json, const char* name, T otherwise) {
  const auto found = json.find(name);
  return found == json.end() ? std::move(otherwise) : found->get<T>();
}

}  // namespace native
