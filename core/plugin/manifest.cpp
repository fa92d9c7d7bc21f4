#include "plugin/manifest.hpp"

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "plugin/text.hpp"
#include "rmgr/abi/base.h"

namespace agent::plugin {
namespace {

namespace fs = std::filesystem;
using domain::Error;
using domain::ErrorCode;
using domain::Result;
using Json = nlohmann::json;

constexpr std::size_t most_manifest = 64 * 1024;
constexpr std::size_t most_manifests = 256;
constexpr std::size_t most_entries = 10'000;  // of a directory, looked at
constexpr std::size_t most_interfaces = 16;
constexpr std::string_view ending = ".manifest.json";

bool made_of(std::string_view text, std::string_view allowed) {
  return !text.empty() && text.size() <= 128 && text.find_first_not_of(allowed) == std::string_view::npos;
}

constexpr std::string_view small = "abcdefghijklmnopqrstuvwxyz0123456789-";

// Throws Json::exception for what is missing or of another type.
Manifest manifest_from(const Json& json) {
  Manifest manifest;
  manifest.id = json.at("id").get<std::string>();
  manifest.version = json.at("version").get<std::string>();
  manifest.library = json.at("library").get<std::string>();
  manifest.platform = json.at("platform").get<std::string>();
  manifest.abi_major = json.at("abi").at("major").get<int>();
  manifest.abi_minor = json.at("abi").at("minor").get<int>();
  manifest.interfaces = json.at("interfaces").get<std::vector<std::string>>();
  return manifest;
}

std::optional<std::string> read_bounded(const fs::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;  // a pipe would block
  std::ifstream in(path, std::ios::binary);
  std::string text(most_manifest + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad() || (!in.eof() && in.fail())) return std::nullopt;
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > most_manifest) return std::nullopt;
  return text;
}

std::optional<std::string> refuse_manifest(const Manifest& manifest, AbiVersion host) {
  if (manifest.platform != this_platform())
    return "It was built for " + one_line(manifest.platform, 64) + " and this is " + this_platform() +
           "; install the build for this platform.";
  // A manifest does not say which minor the library needs; its entry object does.
  return refuse_version(
      {static_cast<std::uint16_t>(manifest.abi_major), static_cast<std::uint16_t>(manifest.abi_minor)}, 0,
      host);
}

// Fills `found`. The text is read also where it is not trusted, so that the refusal stands under the plugin's
// id.
void examine(const fs::path& manifest_path, bool trust_any_owner, AbiVersion host, Discovered& found) {
  const auto text = read_bounded(manifest_path);
  if (!text) {
    found.refusal = "Its manifest cannot be read, is no file or is larger than 64 KiB; install it anew.";
    return;
  }
  Result<Manifest> manifest = parse_manifest(*text);
  if (!manifest) {
    found.refusal = manifest.error().message;
    return;
  }
  found.manifest = std::move(*manifest);
  const fs::path library = manifest_path.parent_path() / found.manifest.library;
  found.path = library.string();
  if (!trust_any_owner) found.refusal = untrusted(manifest_path.string());
  struct stat info {};
  if (found.refusal) return;
  if (::lstat(library.c_str(), &info) != 0) {
    found.refusal = "Its library " + library.string() + " is not there; install it anew.";
  } else if (!S_ISREG(info.st_mode)) {
    found.refusal = "Its library " + library.string() + " is not a regular file; put the file itself there.";
  } else if (!trust_any_owner) {
    found.refusal = untrusted(library.string());
  }
  if (!found.refusal) found.refusal = refuse_manifest(found.manifest, host);
}

std::vector<fs::path> manifests_in(const fs::path& directory, std::error_code& failure) {
  std::vector<fs::path> found;
  std::size_t seen = 0;
  for (fs::directory_iterator it(directory, failure); !failure && it != fs::directory_iterator();
       it.increment(failure)) {
    if (++seen > most_entries) break;
    if (it->path().filename().string().ends_with(ending)) found.push_back(it->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

Result<Manifest> parse_manifest(std::string_view text) {
  const auto wrong = [](const std::string& what) {
    return Error{ErrorCode::invalid,
                 "Its manifest is wrong (" + what + "); build the plugin with rmgr_add_plugin.",
                 {}};
  };
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return wrong("it is not a JSON object");
  Manifest manifest;
  try {
    manifest = manifest_from(json);
  } catch (const Json::exception&) {
    return wrong("a member is missing or of another type");
  }
  if (!made_of(manifest.id, small)) return wrong("id");
  if (!made_of(manifest.version, "0123456789.")) return wrong("version");
  if (!made_of(manifest.library, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ||
      manifest.library.starts_with('.'))
    return wrong("library must be the plain name of a file beside it");
  constexpr int most = std::numeric_limits<std::uint16_t>::max();
  for (const int number : {manifest.abi_major, manifest.abi_minor}) {
    if (number < 0 || number > most) return wrong("abi");
  }
  if (manifest.interfaces.empty() || manifest.interfaces.size() > most_interfaces) return wrong("interfaces");
  for (const std::string& id : manifest.interfaces) {
    if (!made_of(id, "abcdefghijklmnopqrstuvwxyz0123456789-./")) return wrong("interfaces");
  }
  return manifest;
}

std::string this_platform() {
  utsname system{};
  ::uname(&system);
  std::string name = std::string(system.sysname) + "-" + system.machine;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return name;
}

std::optional<std::string> untrusted(const std::string& path) {
  for (fs::path each(path);; each = each.parent_path()) {
    struct stat info {};
    if (::lstat(each.c_str(), &info) != 0)
      return each.string() + " cannot be examined; make it readable for the daemon's account.";
    if (S_ISLNK(info.st_mode)) return each.string() + " is a symbolic link; put the file itself there.";
    if (info.st_uid != 0 && info.st_uid != ::geteuid())
      return each.string() + " belongs to another account; run chown root on it.";
    // In a sticky directory such as /tmp nobody but the owner can replace what is checked here.
    const bool sticky = S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX) != 0 && each != fs::path(path);
    if ((info.st_mode & 022) != 0 && !sticky)
      return each.string() + " can be changed by other accounts; run chmod go-w on it.";
    if (each == each.parent_path()) return std::nullopt;
  }
}

std::vector<Discovered> discover_plugins(const std::vector<std::string>& directories, bool trust_any_owner,
                                         AbiVersion host) {
  std::vector<Discovered> all;
  std::set<std::string> ids;
  for (const std::string& directory : directories) {
    std::error_code failure;
    const fs::path canonical = fs::canonical(directory, failure);
    std::vector<fs::path> manifests;
    if (!failure) manifests = manifests_in(canonical, failure);
    if (failure) {
      Discovered unreadable;
      unreadable.path = directory;
      unreadable.refusal = "The plugin directory cannot be read (" + failure.message() +
                           "); correct the configuration or make it readable.";
      all.push_back(std::move(unreadable));
      continue;
    }
    for (const fs::path& path : manifests) {
      if (all.size() >= most_manifests) return all;
      Discovered found;
      found.path = path.string();
      examine(path, trust_any_owner, host, found);
      if (!found.manifest.id.empty() && !ids.insert(found.manifest.id).second)
        found.refusal = "Another plugin of the same id was found before it; remove one of them.";
      all.push_back(std::move(found));
    }
  }
  return all;
}

}  // namespace agent::plugin
