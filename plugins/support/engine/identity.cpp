#include "support/engine/identity.hpp"

#include <algorithm>

namespace plugins::engine {
namespace {

constexpr const char* host_key = "runner-manager.host";
constexpr const char* attempt_key = "runner-manager.attempt";
constexpr const char* generation_key = "runner-manager.generation";
constexpr const char* image_key = "runner-manager.image";
constexpr const char* policy_key = "runner-manager.policy";

constexpr std::string_view network_mark = "network/";

std::string value(const Labels& labels, const char* key) {
  const auto found = labels.find(key);
  return found == labels.end() ? std::string() : found->second;
}

}  // namespace

std::string name_of(const rmgr::Allocation& allocation) {
  return "rm-" + std::string(allocation.attempt) + "-" + std::string(allocation.generation.substr(0, 8));
}

Labels attempt_labels(const rmgr::Allocation& allocation) {
  return {{host_key, std::string(allocation.host)},
          {attempt_key, std::string(allocation.attempt)},
          {generation_key, std::string(allocation.generation)}};
}

Labels labels_of(const rmgr::Allocation& allocation) {
  Labels labels = attempt_labels(allocation);
  labels[image_key] = allocation.image;
  labels[policy_key] = allocation.policy;
  return labels;
}

Labels host_label(std::string_view host) { return {{host_key, std::string(host)}}; }

bool bears(const Labels& labels, const rmgr::Allocation& allocation) {
  return value(labels, host_key) == allocation.host && value(labels, attempt_key) == allocation.attempt &&
         value(labels, generation_key) == allocation.generation &&
         value(labels, image_key) == allocation.image;
}

std::string text_of(const Environment& environment) {
  return environment.engine + ":" + (environment.network ? std::string(network_mark) : "") + environment.id;
}

std::optional<Environment> parse_environment(std::string_view text) {
  Environment environment;
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  environment.engine = text.substr(0, colon);
  text.remove_prefix(colon + 1);
  environment.network = text.starts_with(network_mark);
  if (environment.network) text.remove_prefix(network_mark.size());
  environment.id = text;
  const bool known =
      environment.engine == "podman" || environment.engine == "docker" || environment.engine == "hyperv";
  const bool plain = std::all_of(text.begin(), text.end(),
                                 [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  if (!known || !plain || text.empty() || text.size() > 128) return std::nullopt;
  return environment;
}

rmgr::Owned owned(const Labels& labels, const Environment& environment) {
  return {value(labels, host_key), value(labels, attempt_key), value(labels, generation_key),
          value(labels, image_key), text_of(environment)};
}

}  // namespace plugins::engine
