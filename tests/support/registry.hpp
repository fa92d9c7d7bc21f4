// The registries of tests/support/registries, and images for them.
#pragma once

#include <string>

#include "support/engine.hpp"

namespace testkit {

inline constexpr const char* kRegistryUser = "puller";
inline constexpr const char* kRegistryPassword = "needle-of-the-registry";
inline constexpr const char* kOpenRegistry = "127.0.0.1:5001";
inline constexpr const char* kClosedRegistry = "127.0.0.1:5002";       // wants the user, without TLS
inline constexpr const char* kTlsRegistry = "registry.test:5003";      // wants the user, over TLS
inline constexpr const char* kStrangeRegistry = "stranger.test:5004";  // of an unknown authority

// All registries serve what was pushed. Everything throws std::runtime_error where it does not go well.
class Registries {
 public:
  explicit Registries(TestEngine engine);  // starts them

  // An image with a shell, whose environment says MARK=`mark`; answers its digest, sha256:….
  std::string push(const std::string& name, const std::string& tag, const std::string& mark,
                   const std::string& architecture = "amd64") const;
  // A list of one image that is for another architecture alone.
  std::string push_list(const std::string& name, const std::string& tag,
                        const std::string& architecture) const;

 private:
  std::string push_blob(const std::string& name, const std::string& file) const;
  std::string push_manifest(const std::string& name, const std::string& reference, const std::string& type,
                            const std::string& body) const;

  TestEngine engine_;
};

}  // namespace testkit
