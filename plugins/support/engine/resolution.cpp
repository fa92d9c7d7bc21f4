#include "support/engine/resolution.hpp"

#include <algorithm>

#include "support/engine/json.hpp"

namespace plugins::engine {
namespace {

using rmgr::Error;
using rmgr::Status;

constexpr std::size_t most_reference = 512;
constexpr std::string_view digest_mark = "@sha256:";
constexpr std::string_view id_mark = "sha256:";

bool hex_digest(std::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::string_view without_digest(std::string_view reference) {
  return reference.substr(0, reference.find('@'));
}

// Without tag and digest, and in full: engines leave out what goes without saying, each something else.
std::string full_name(std::string_view reference) {
  std::string_view name = without_digest(reference);
  const std::size_t slash = name.rfind('/');
  const std::size_t colon = name.find(':', slash == std::string_view::npos ? 0 : slash);
  name = name.substr(0, colon);
  const std::string registry = registry_of(reference);
  std::string path(name);
  if (path.starts_with(registry + "/")) path.erase(0, registry.size() + 1);
  if (registry == "docker.io" && path.find('/') == std::string::npos) path.insert(0, "library/");
  return registry + "/" + path;
}

}  // namespace

bool sound_reference(std::string_view reference) {
  if (reference.empty() || reference.size() > most_reference) return false;
  if (reference.starts_with(id_mark)) return is_pinned(reference);
  const std::size_t at = reference.find('@');
  if (at != std::string_view::npos && !is_pinned(reference)) return false;
  const std::string_view name = without_digest(reference);
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-' || c == '/' || c == ':' || c == '[' || c == ']';
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), plain) && name.front() != '/' &&
         name.back() != '/' && name.back() != ':' && name.front() != '-' && name.front() != '.' &&
         name.find("//") == std::string_view::npos && name.find("..") == std::string_view::npos;
}

bool is_pinned(std::string_view reference) {
  if (reference.starts_with(id_mark)) return hex_digest(reference.substr(id_mark.size()));
  const std::size_t at = reference.find(digest_mark);
  return at != std::string_view::npos && at > 0 && hex_digest(reference.substr(at + digest_mark.size()));
}

std::string registry_of(std::string_view reference) {
  const std::size_t slash = reference.find('/');
  if (slash == std::string_view::npos) return "docker.io";
  const std::string_view first = reference.substr(0, slash);
  const bool host = first == "localhost" || first.find_first_of(".:") != std::string_view::npos;
  if (!host || first == "index.docker.io") return "docker.io";
  return std::string(first);
}

std::optional<std::string> digest_for(std::string_view reference, const std::vector<std::string>& digests) {
  const std::string wanted = full_name(reference);
  for (const std::string& digest : digests) {
    if (is_pinned(digest) && full_name(digest) == wanted) return digest;
  }
  return std::nullopt;
}

void Images::pull(const rmgr::Call& call, const Connection& connection, const std::string& reference) const {
  const std::string registry = registry_of(reference);
  const auto entry = std::find_if(settings_.registry_auth.begin(), settings_.registry_auth.end(),
                                  [&](const RegistryCredential& one) { return one.registry == registry; });
  if (entry == settings_.registry_auth.end()) {
    connection.client->pull_image(call, reference, "", settings_.platform);
    return;
  }
  host_.secrets().with_secret(entry->password, [&](rmgr::SecretView password) {
    std::string credential = write_credential(entry->username, password.reveal(), entry->registry);
    try {
      connection.client->pull_image(call, reference, credential, settings_.platform);
    } catch (...) {
      rmgr::wipe(credential.data(), credential.size());
      throw;
    }
    rmgr::wipe(credential.data(), credential.size());
  });
}

void Images::check_platform(const rmgr::Call& call, const Connection& connection,
                            const std::string& reference, const Image& image) const {
  const bool unknown = image.os.empty() || image.architecture.empty();
  std::string wanted = settings_.platform;
  if (wanted.empty()) {
    if (unknown) return;
    const auto version = connection.client->version(call);
    wanted = version.os + "/" + version.architecture;
  }
  const std::string is = unknown ? "an unknown platform" : image.os + "/" + image.architecture;
  if (is == wanted) return;
  throw Error(Status::unsupported, "The image " + reference + " is for " + presentable(is) +
                                       " and this engine runs " + presentable(wanted) +
                                       "; name another image.");
}

std::string Images::resolve(const rmgr::Call& call, const Connection& connection,
                            const std::string& reference) const {
  if (!sound_reference(reference))
    throw Error(Status::invalid, "The policy's image is no name of an image; correct profile.image.");
  if (is_pinned(reference)) {
    need(call, connection, reference);
    return reference;
  }
  if (settings_.pull == Pull::always) pull(call, connection, reference);
  auto image = connection.client->inspect_image(call, reference);
  if (!image && settings_.pull == Pull::missing) {
    pull(call, connection, reference);
    image = connection.client->inspect_image(call, reference);
  }
  if (!image) {
    throw Error(Status::not_found,
                "The image " + reference +
                    " is not in the engine; pull it there, or let it be pulled by pull: missing.");
  }
  check_platform(call, connection, reference, *image);
  // What was built or loaded here has no digest of a registry; its id is the digest of its content.
  return digest_for(reference, image->digests).value_or(image->id);
}

Image Images::need(const rmgr::Call& call, const Connection& connection, const std::string& pinned) const {
  auto image = connection.client->inspect_image(call, pinned);
  const bool local_only = pinned.starts_with(id_mark);
  if (!image && !local_only && settings_.pull != Pull::never) {
    pull(call, connection, pinned);
    image = connection.client->inspect_image(call, pinned);
  }
  if (!image) {
    throw Error(Status::not_found,
                "The image " + pinned + " is not in the engine" +
                    (local_only ? " any more; build or load it again."
                                : "; pull it there, or let it be pulled by pull: missing."));
  }
  const std::string_view digest = std::string_view(pinned).substr(pinned.find(id_mark));
  const bool same = local_only ? image->id == pinned
                               : std::any_of(image->digests.begin(), image->digests.end(),
                                             [&](const std::string& one) { return one.ends_with(digest); });
  if (!same) {
    throw Error(Status::bad_response, "The engine shows another image than " + pinned +
                                          " under that digest; remove it there and pull it again.");
  }
  check_platform(call, connection, pinned, *image);
  return *image;
}

}  // namespace plugins::engine
