#include "support/engine.hpp"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace testkit {

using nlohmann::json;

std::optional<TestEngine> test_engine() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
  };
  TestEngine engine{variable("RMGR_TEST_ENGINE"),
                    variable("RMGR_TEST_ENGINE_SOCKET"),
                    variable("RMGR_TEST_ENGINE_TAG"),
                    variable("RMGR_TEST_ENGINE_FULL_TAG"),
                    variable("RMGR_TEST_ENGINE_ADDRESS"),
                    static_cast<pid_t>(std::atoi(variable("RMGR_TEST_ENGINE_PID").c_str()))};
  if (engine.name.empty()) return std::nullopt;
  return engine;
}

std::string provider_config(const TestEngine& engine, bool package_inside) {
  const std::string inside = package_inside ? std::string(", runner_path: ") + package_path : "";
  return "{engine: " + engine.name + ", host: \"unix://" + engine.socket + "\", pull: never" + inside + "}";
}

std::string ask_engine(const TestEngine& engine, const std::string& method, const std::string& path,
                       const std::string& body) {
  std::vector<std::string> words = {"/usr/bin/curl", "--silent",    "--fail",
                                    "--globoff",     "--request",   method,
                                    "--unix-socket", engine.socket, "http://engine/v1.40" + path};
  if (!body.empty())
    words.insert(words.end(), {"--header", "Content-Type: application/json", "--data", body});
  int code = -1;
  std::string answer = run_program(words, &code);
  if (code != 0) throw std::runtime_error("the engine refused " + method + " " + path);
  return answer;
}

void count_leftovers(const TestEngine& engine, Leftovers& left) {
  const auto asked = [&](const std::string& path) { return json::parse(ask_engine(engine, "GET", path)); };
  left.containers = static_cast<int>(asked("/containers/json?all=true").size());
  const json volumes = asked("/volumes");
  if (volumes.contains("Volumes") && volumes["Volumes"].is_array())
    left.volumes = static_cast<int>(volumes["Volumes"].size());
  left.networks =
      static_cast<int>(asked("/networks?filters=%7B%22label%22%3A%5B%22runner-manager.host%22%5D%7D").size());
}

}  // namespace testkit
