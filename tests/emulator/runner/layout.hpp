// The runner's directories and its hidden files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace emulator::runner {

// The directory above bin/, where this program's file lies.
std::filesystem::path root_directory();

// The version that the package was built with: bin/Runner.Version beside the program.
std::string version();

// What .runner and .credentials say.
struct Identity {
  std::int64_t agent_id = 0;
  std::string agent_name;
  std::string server_url;
  std::string git_hub_url;
  std::string work_folder;
  bool ephemeral = true;
  std::string token;
};

// Writes the files of an encoded just-in-time configuration, mode 0600. Returns what is wrong, never its
// content: a file that exists with other content means that the directory was used before.
std::optional<std::string> install_jit_config(const std::filesystem::path& root, const std::string& encoded);

// Nothing if the directory is not configured.
std::optional<Identity> load_identity(const std::filesystem::path& root);

// Applies .env (NAME=VALUE lines) and .path to this process's environment, when they are there.
void load_environment_files(const std::filesystem::path& root);

// A GitHub-like boolean: 1 or true in any case.
bool is_true(const char* value);

// <root>/_diag/<prefix>_<date>-utc.log, created; later lines go through log().
class DiagnosticLog {
 public:
  DiagnosticLog(const std::filesystem::path& root, const std::string& prefix);
  ~DiagnosticLog();
  DiagnosticLog(const DiagnosticLog&) = delete;
  DiagnosticLog& operator=(const DiagnosticLog&) = delete;
  void log(const std::string& component, const std::string& message);

 private:
  int fd_ = -1;
};

}  // namespace emulator::runner
