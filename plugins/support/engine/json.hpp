// From and to the engine's JSON. Readers throw rmgr::Error (bad_response) for what is not of its form.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "support/engine/model.hpp"

namespace plugins::engine {

// The "message" of a refusal; the text itself if it is no such JSON.
std::string read_message(const std::string& body);

Version read_version(const std::string& body);
Info read_info(const std::string& body);
Container read_container(const std::string& body);
std::vector<Listed> read_containers(const std::string& body);
std::vector<Listed> read_networks(const std::string& body);
std::vector<std::string> read_volumes(const std::string& body);
Image read_image(const std::string& body);
std::string read_id(const std::string& body);  // of what was created
std::int64_t read_status_code(const std::string& body);

// One line of a pull's progress: what failed, if it says so.
std::optional<std::string> read_pull_error(std::string_view line);

std::string write_container(const ContainerSpec& spec);
std::string write_network(const std::string& name, const Labels& labels);
// {"label": ["key=value", …]}
std::string write_label_filter(const Labels& labels);
std::string write_credential(std::string_view user, std::string_view password, std::string_view server);

}  // namespace plugins::engine
