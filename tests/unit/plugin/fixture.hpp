// What the tests of the plugin room share.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers) mkdtemp

#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <system_error>
#include <vector>

#include "plugin/host.hpp"
#include "plugin/version.hpp"

namespace fixture {

using namespace agent;

class RecordingLog final : public observe::Log {
 public:
  struct Line {
    observe::Level level;
    observe::Event event;
    std::string text;  // the values of text fields, joined by '|'
  };
  void write(observe::Level level, observe::Event event, observe::Fields fields) override {
    Line line{level, event, {}};
    for (const auto& [field, value] : fields) {
      const auto* text = std::get_if<std::string>(&value);
      if (text != nullptr) line.text += (line.text.empty() ? "" : "|") + *text;
    }
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
  }
  std::vector<Line> lines() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  std::mutex mutex_;
  std::vector<Line> lines_;
};

class TempDirectory {
 public:
  TempDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "rmgr-plugin-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
      throw std::system_error(errno, std::generic_category(), pattern);
    path_ = pattern;
  }
  ~TempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] const std::string& str() const { return path_; }

 private:
  std::string path_;
};

inline void write_file(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

// The version of this host, or one that many majors and minors later, as refusals name it.
inline std::string abi_version(int majors = 0, int minors = 0) {
  plugin::AbiVersion version;
  version.major = static_cast<std::uint16_t>(version.major + majors);
  version.minor = static_cast<std::uint16_t>(version.minor + minors);
  return plugin::to_string(version);
}

inline const std::string zoo = RMGR_BUILD_DIR "/zoo";

// Both plugin directories of the build, whoever owns it.
inline plugin::HostOptions options() {
  plugin::HostOptions chosen;
  chosen.directories = {RMGR_PLUGIN_DIR, zoo};
  chosen.trust_any_owner = true;
  chosen.lane.grace = domain::Millis{60'000};
  return chosen;
}

inline plugin::InstanceSpec spec(const std::string& plugin,
                                 plugin::ComponentKind kind = plugin::ComponentKind::execution_provider,
                                 const std::string& config = "{}") {
  plugin::InstanceSpec made;
  made.name = domain::InstanceName(plugin + "-1");
  made.kind = kind;
  made.plugin = plugin;
  made.config_json = config;
  return made;
}

inline plugin::Call call() { return {"call-1", std::chrono::steady_clock::now() + std::chrono::minutes(5)}; }

inline domain::Attempt attempt(const std::string& policy = "p") {
  domain::Attempt made;
  made.id = domain::AttemptId("11111111-2222-4333-8444-555555555555");
  made.generation = domain::Generation("0123456789abcdef0123456789abcdef");
  made.policy.name = domain::PolicyName(policy);
  made.runtime = "/runtime";
  return made;
}

inline domain::Policy policy(const std::string& name, const std::string& image = "") {
  domain::Policy made;
  made.name = domain::PolicyName(name);
  made.profile.image = image;
  return made;
}

}  // namespace fixture
