// The shapes of GitHub's JSON objects.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "server/packages.hpp"
#include "server/settings.hpp"
#include "server/world.hpp"

namespace emulator {

nlohmann::json render_run(const World& world, const Settings& settings, const Run& run, Millis when);
nlohmann::json render_job(const World& world, const Settings& settings, const Job& job, Millis when);
nlohmann::json render_runner(const World& world, const Registration& registration, Millis when);
nlohmann::json render_repository(const Settings& settings, const Repository& repository);
nlohmann::json render_download(const Settings& settings, const PackageRow& row);
// Bytes that are not UTF-8 are replaced rather than thrown about.
std::string dump(const nlohmann::json& json);

}  // namespace emulator
