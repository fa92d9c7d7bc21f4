#include "runner/layout.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "wire/text.hpp"

namespace emulator::runner {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kLargestFile = 1U << 20U;

std::optional<std::string> read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool write_new_private(const fs::path& path, std::string_view bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  const bool written = write_all(fd, bytes);
  ::close(fd);
  return written;
}

std::string log_time(const char* format) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 40> buffer{};
  return {buffer.data(), std::strftime(buffer.data(), buffer.size(), format, &parts)};
}

std::string trimmed(std::string line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n'))
    line.pop_back();
  return line;
}

}  // namespace

fs::path root_directory() { return fs::read_symlink("/proc/self/exe").parent_path().parent_path(); }

std::string version() {
  std::ifstream file(root_directory() / "bin" / "Runner.Version");
  std::string line;
  std::getline(file, line);
  return line.empty() ? "0.0.0" : trimmed(line);
}

std::optional<std::string> install_jit_config(const fs::path& root, const std::string& encoded) {
  const auto text = base64_decode(encoded);
  const json files = text ? json::parse(*text, nullptr, false) : json();
  if (!files.is_object() || files.empty())
    return "the just-in-time configuration is not base64 of a JSON object";
  for (const auto& [name, value] : files.items()) {
    const bool known = name == ".runner" || name == ".credentials" || name == ".credentials_rsaparams";
    if (!known || !value.is_string()) return "the just-in-time configuration holds an unexpected file";
    const auto content = base64_decode(value.get_ref<const std::string&>());
    if (!content || content->size() > kLargestFile)
      return "a file of the just-in-time configuration is malformed";
    const fs::path path = root / name;
    if (const auto existing = read_file(path)) {
      if (*existing == *content) continue;
      return path.string() + " exists already: this directory was configured as another runner";
    }
    if (!write_new_private(path, *content)) return "cannot write " + path.string();
  }
  return std::nullopt;
}

std::optional<Identity> load_identity(const fs::path& root) {
  const auto settings_text = read_file(root / ".runner");
  const auto credentials_text = read_file(root / ".credentials");
  if (!settings_text || !credentials_text) return std::nullopt;
  const json settings = json::parse(*settings_text, nullptr, false);
  const json credentials = json::parse(*credentials_text, nullptr, false);
  try {
    Identity identity;
    identity.agent_id = settings.at("agentId").get<std::int64_t>();
    identity.agent_name = settings.at("agentName").get<std::string>();
    identity.server_url = settings.at("serverUrl").get<std::string>();
    identity.git_hub_url = settings.at("gitHubUrl").get<std::string>();
    identity.work_folder = settings.at("workFolder").get<std::string>();
    identity.ephemeral = settings.value("ephemeral", false);
    identity.token = credentials.at("data").at("token").get<std::string>();
    return identity;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

void load_environment_files(const fs::path& root) {
  std::ifstream file(root / ".env");
  std::string line;
  while (std::getline(file, line)) {
    line = trimmed(line);
    const auto equals = line.find('=');
    if (equals != std::string::npos && equals > 0) {
      ::setenv(line.substr(0, equals).c_str(), line.substr(equals + 1).c_str(), 1);
    }
  }
  if (const auto path = read_file(root / ".path"); path && !path->empty())
    ::setenv("PATH", trimmed(*path).c_str(), 1);
}

bool is_true(const char* value) {
  return value != nullptr && (equal_fold(value, "true") || equal_fold(value, "1"));
}

DiagnosticLog::DiagnosticLog(const fs::path& root, const std::string& prefix) {
  const fs::path directory = root / "_diag";
  std::error_code ignored;
  fs::create_directory(directory, ignored);
  const fs::path path = directory / (prefix + "_" + log_time("%Y%m%d-%H%M%S") + "-utc.log");
  fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

DiagnosticLog::~DiagnosticLog() {
  if (fd_ >= 0) ::close(fd_);
}

void DiagnosticLog::log(const std::string& component, const std::string& message) {
  if (fd_ < 0) return;
  write_all(fd_, "[" + log_time("%Y-%m-%d %H:%M:%SZ") + " INFO " + component + "] " + message + "\n");
}

}  // namespace emulator::runner
