// From the name of an image to one content, for good.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rmgr/host.hpp"
#include "support/engine/access.hpp"

namespace plugins::engine {

enum class Pull { missing, always, never };

struct RegistryCredential {
  std::string registry;  // host[:port]
  std::string username;
  std::string password;  // secret reference
};

struct ImageSettings {
  Pull pull = Pull::missing;
  std::vector<RegistryCredential> registry_auth;
  std::string platform;  // that images must be for, as windows/amd64; empty: the engine's own
};

// A name that engines understand: name, name:tag, name@sha256:…, or sha256:… of an image that is here.
bool sound_reference(std::string_view reference);
// Names one content and no other.
bool is_pinned(std::string_view reference);
// The registry that serves it; docker.io where the name does not say.
std::string registry_of(std::string_view reference);
// Of an image's digests the one under that name; none if the image came from nowhere or from another name.
std::optional<std::string> digest_for(std::string_view reference, const std::vector<std::string>& digests);

// Throws rmgr::Error: invalid (no such form), not_found, unauthorized, unsupported (another platform),
// unreachable, retry.
class Images {
 public:
  Images(rmgr::Host host, const ImageSettings& settings) : host_(host), settings_(settings) {}

  // The digest-pinned name; the image is here afterwards.
  std::string resolve(const rmgr::Call& call, const Connection& connection,
                      const std::string& reference) const;
  // The image of a pinned name, pulled if it is missing and may be.
  Image need(const rmgr::Call& call, const Connection& connection, const std::string& pinned) const;

 private:
  void pull(const rmgr::Call& call, const Connection& connection, const std::string& reference) const;
  void check_platform(const rmgr::Call& call, const Connection& connection, const std::string& reference,
                      const Image& image) const;

  rmgr::Host host_;
  const ImageSettings& settings_;
};

}  // namespace plugins::engine
