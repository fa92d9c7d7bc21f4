#include "native/environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>

#include "native/runtime.hpp"

namespace native {
namespace {

bool matches(std::string_view pattern, std::string_view name) {
  if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == name;
}

// Channels of the service manager, and what could steer the agent's own secrets into a job.
constexpr std::array never_inherited = {
    std::string_view("NOTIFY_SOCKET"),    std::string_view("CREDENTIALS_DIRECTORY"),
    std::string_view("LISTEN_*"),         std::string_view("DBUS_*"),
    std::string_view("MAINPID"),          std::string_view("INVOCATION_ID"),
    std::string_view("JOURNAL_STREAM"),   std::string_view("WATCHDOG_*"),
    std::string_view("SYSTEMD_*"),        std::string_view("ACTIONS_RUNNER_*"),
    std::string_view("RUNNER_MANAGER_*"),
};

constexpr std::array reserved = {
    std::string_view("ACTIONS_RUNNER_INPUT_*"),
    std::string_view("ACTIONS_RUNNER_RETURN_VERSION_DEPRECATED_EXIT_CODE"),
    std::string_view("RUNNER_ALLOW_RUNASROOT"),
    std::string_view("RUNNER_TRACKING_ID"),
    std::string_view("HOME"),
    std::string_view("USER"),
    std::string_view("LOGNAME"),
    std::string_view("TMPDIR"),
    std::string_view("TEMP"),
    std::string_view("TMP"),
    std::string_view("NOTIFY_SOCKET"),
    std::string_view("CREDENTIALS_DIRECTORY"),
    std::string_view("LISTEN_*"),
};

// True if some name can match both.
bool overlap(std::string_view a, std::string_view b) {
  const auto stem = [](std::string_view pattern) {
    return pattern.ends_with('*') ? pattern.substr(0, pattern.size() - 1) : pattern;
  };
  if (a.ends_with('*') && b.ends_with('*'))
    return stem(a).starts_with(stem(b)) || stem(b).starts_with(stem(a));
  return a.ends_with('*') ? matches(a, b) : matches(b, a);
}

}  // namespace

std::vector<std::string> default_inherit() {
  return {"PATH",
          "LANG",
          "LC_*",
          "TZ",
          "http_proxy",
          "https_proxy",
          "no_proxy",
          "all_proxy",
          "HTTP_PROXY",
          "HTTPS_PROXY",
          "NO_PROXY",
          "ALL_PROXY",
          "SSL_CERT_FILE",
          "SSL_CERT_DIR",
          "CURL_CA_BUNDLE",
          "GIT_SSL_CAINFO",
          "NODE_EXTRA_CA_CERTS",
          "REQUESTS_CA_BUNDLE"};
}

bool may_inherit(std::string_view pattern) {
  return std::none_of(never_inherited.begin(), never_inherited.end(),
                      [pattern](std::string_view each) { return overlap(pattern, each); });
}

bool is_reserved(std::string_view name) {
  return std::any_of(reserved.begin(), reserved.end(),
                     [name](std::string_view each) { return matches(each, name); });
}

Variables own_environment() {
  Variables own;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos && equals > 0)
      own.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return own;
}

std::vector<std::string> build_environment(const Variables& own, const std::vector<std::string>& inherit,
                                           const Variables& runner_env, const Account& account,
                                           const std::string& runtime) {
  std::map<std::string, std::string> result;
  result["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  result["LANG"] = "C.UTF-8";
  for (const auto& [name, value] : own) {
    const bool wanted = std::any_of(inherit.begin(), inherit.end(),
                                    [&name = name](const auto& each) { return matches(each, name); });
    if (wanted) result[name] = value;
  }
  result["HOME"] = runtime + '/' + home_directory;
  result["USER"] = account.name;
  result["LOGNAME"] = account.name;
  result["DOTNET_CLI_TELEMETRY_OPTOUT"] = "1";
  result["POWERSHELL_TELEMETRY_OPTOUT"] = "1";
  // Tells an outdated runner to say so by its exit code instead of waiting for an update.
  result["ACTIONS_RUNNER_RETURN_VERSION_DEPRECATED_EXIT_CODE"] = "1";
  if (account.uid == 0) result["RUNNER_ALLOW_RUNASROOT"] = "1";
  for (const auto& [name, value] : runner_env)
    result[name] = value;
  for (const char* name : {"TMPDIR", "TEMP", "TMP"})
    result[name] = runtime + '/' + temp_directory;
  std::vector<std::string> entries;
  entries.reserve(result.size());
  for (const auto& [name, value] : result)
    entries.push_back(name + '=' + value);
  return entries;
}

}  // namespace native
