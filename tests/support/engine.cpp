#include "support/engine.hpp"

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "support/temporary.hpp"

namespace testkit {

using nlohmann::json;

namespace {

std::vector<std::string> curl(const TestEngine& engine, const std::string& method, const std::string& path) {
  return {"/usr/bin/curl",
          "--silent",
          "--fail",
          "--globoff",
          "--max-time",
          "60",
          "--request",
          method,
          "--unix-socket",
          engine.socket,
          "http://engine/v1.40" + path};
}

}  // namespace

std::optional<TestEngine> test_engine() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
  };
  TestEngine engine{variable("RMGR_TEST_ENGINE"),         variable("RMGR_TEST_ENGINE_SOCKET"),
                    variable("RMGR_TEST_ENGINE_TAG"),     variable("RMGR_TEST_ENGINE_FULL_TAG"),
                    variable("RMGR_TEST_ENGINE_ADDRESS"), variable("RMGR_TEST_ENGINE_STATE"),
                    variable("RMGR_TEST_ENGINE_CONTROL")};
  if (engine.name.empty()) return std::nullopt;
  return engine;
}

std::string provider_config(const TestEngine& engine, const std::string& more) {
  return "{engine: " + engine.name + ", host: \"unix://" + engine.socket + "\"" + more + "}";
}

std::string ask_engine(const TestEngine& engine, const std::string& method, const std::string& path,
                       const std::string& body) {
  std::vector<std::string> words = curl(engine, method, path);
  if (!body.empty())
    words.insert(words.end(), {"--header", "Content-Type: application/json", "--data", body});
  return must_run(words, "the engine refused " + method + " " + path);
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

void control_engine(const TestEngine& engine, const std::vector<std::string>& words) {
  std::vector<std::string> command = {engine.control};
  command.insert(command.end(), words.begin(), words.end());
  must_run(command, "the engine did not obey: " + words.front());
}

pid_t engine_pid(const TestEngine& engine) {
  std::ifstream file(engine.state + "/engine.pid");
  pid_t pid = -1;
  return file >> pid ? pid : -1;
}

std::string file_in(const TestEngine& engine, const std::string& container, const std::string& path) {
  const TemporaryDirectory scratch;
  std::vector<std::string> words = curl(engine, "GET", "/containers/" + container + "/archive?path=" + path);
  words.insert(words.end(), {"--output", scratch / "archive"});
  int code = -1;
  run_program(words, &code);
  if (code != 0) return {};
  return run_program({"/bin/tar", "--extract", "--to-stdout", "--file", scratch / "archive"}, &code);
}

void make_file_in(const TestEngine& engine, const std::string& container, const std::string& name) {
  const TemporaryDirectory scratch;
  std::ofstream(scratch / name) << "x\n";
  must_run({"/bin/tar", "--create", "--file", scratch / "archive", "--directory", scratch.path(), name},
           "tar failed");
  std::vector<std::string> words = curl(engine, "PUT", "/containers/" + container + "/archive?path=/");
  words.insert(words.end(),
               {"--header", "Content-Type: application/x-tar", "--data-binary", "@" + (scratch / "archive")});
  must_run(words, "the engine refused a file for a container");
}

}  // namespace testkit
