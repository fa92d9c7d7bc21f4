// What the tests of containers share. Their program is started by tests/support/with-engine.
#pragma once

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "stage.hpp"
#include "support/engine.hpp"

namespace integration {

inline testkit::TestEngine engine() {
  const auto found = testkit::test_engine();
  if (!found) throw std::runtime_error("start this program by tests/support/with-engine");
  return *found;
}
inline bool docker() { return engine().name == "docker"; }

inline std::string ask(const std::string& method, const std::string& path, const std::string& body = "") {
  return testkit::ask_engine(engine(), method, path, body);
}

// As the engine shows them in full, of agents or of anybody.
inline std::vector<nlohmann::json> containers() {
  std::vector<nlohmann::json> all;
  for (const auto& one : nlohmann::json::parse(ask("GET", "/containers/json?all=true")))
    all.push_back(nlohmann::json::parse(ask("GET", "/containers/" + one["Id"].get<std::string>() + "/json")));
  return all;
}
inline std::string only_container() {
  const auto all = containers();
  if (all.size() != 1) throw std::runtime_error(std::to_string(all.size()) + " containers and not one");
  return all.front()["Id"];
}

// A container of the test's own, never started.
inline std::string make_container(const std::string& name, const nlohmann::json& labels) {
  const nlohmann::json spec = {{"Image", engine().image},
                               {"Cmd", {"/bin/sh"}},
                               {"Labels", labels},
                               {"HostConfig", {{"NetworkMode", "none"}}}};
  return nlohmann::json::parse(ask("POST", "/containers/create?name=" + name, spec.dump()))["Id"];
}
inline void drop_container(const std::string& id) {
  ask("DELETE", "/containers/" + id + "?force=true&v=true");
}

struct Containers {
  std::string config = ", pull: never";  // what follows in the provider's configuration, from a comma on
  std::vector<std::pair<std::string, std::string>> profile;  // without the image
  std::string image = engine().image;
  std::function<void(testkit::AgentSetup&)> change;
};

class ContainerStage : public Stage {
 public:
  explicit ContainerStage(int capacity, const Containers& wanted = {})
      : Stage(capacity,
              [&wanted](testkit::AgentSetup& setup) {
                setup.provider = "oci";
                setup.provider_config = testkit::provider_config(engine(), wanted.config);
                setup.policies.front().profile = wanted.profile;
                setup.policies.front().profile.emplace_back("image", "\"" + wanted.image + "\"");
                if (wanted.change) wanted.change(setup);
              },
              {"--runner-url", "http://" + engine().address + ":{port}"}) {
    // A listener that is gone with its container says nothing any more.
    github()->change_settings({.lost_after_ms = 4'000});
  }

  testkit::Leftovers leftovers() {
    testkit::Leftovers left = agent().leftovers();
    testkit::count_leftovers(engine(), left);
    return left;
  }
  void expect_nothing_left() {
    const testkit::Leftovers left = leftovers();
    EXPECT_EQ(left.containers, 0);
    EXPECT_EQ(left.networks, 0);
    EXPECT_EQ(left.volumes, 0);
    EXPECT_EQ(left.sum(), 0);
  }
  void expect_each_ran_once() {
    for (const auto& job : github()->jobs()) {
      EXPECT_EQ(job.starts, 1);
      EXPECT_EQ(job.result, "success");
    }
    expect_nothing_left();
  }
  [[nodiscard]] bool at_work(int jobs) {
    return eventually([&] { return github()->summary().in_progress == jobs; });
  }
  // Nothing starts, for this reason, and `remedy` says it.
  [[nodiscard]] bool refused_for(const std::string& remedy) {
    return eventually([&] {
      const auto policies = agent().policies();
      return policies.size() == 1 && policies.front().limited_by == "provider_not_ready" &&
             policies.front().remedy.find(remedy) != std::string::npos;
    });
  }
  [[nodiscard]] nlohmann::json status() {
    return nlohmann::json::parse(agent().status_json(), nullptr, false);
  }
};

// A job that stays until release() of its container.
inline std::string stays() { return Stage::wait_for("/go"); }
inline void release(const std::string& container) { testkit::make_file_in(engine(), container, "go"); }
// What a job wrote to /report, once it has written /reported too.
inline std::string report_of(const std::string& container) {
  if (!eventually([&] { return !testkit::file_in(engine(), container, "/reported").empty(); })) return {};
  return testkit::file_in(engine(), container, "/report");
}
inline std::string reports(const std::string& commands) {
  return "{ " + commands + " ; } > /report 2>&1; echo x > /reported; " + stays();
}

}  // namespace integration
