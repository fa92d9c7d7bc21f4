#include "support/registry.hpp"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "support/temporary.hpp"

namespace testkit {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr const char* kManifest = "application/vnd.docker.distribution.manifest.v2+json";
constexpr const char* kList = "application/vnd.docker.distribution.manifest.list.v2+json";

std::string digest_of(const std::string& file) {
  return "sha256:" + must_run({"/usr/bin/sha256sum", file}, "sha256sum failed").substr(0, 64);
}

}  // namespace

Registries::Registries(TestEngine engine) : engine_(std::move(engine)) {
  must_run({fs::path(engine_.control).parent_path() / "registries"}, "the registries did not start");
}

std::string Registries::push_blob(const std::string& name, const std::string& file) const {
  const std::string digest = digest_of(file);
  const std::string base = "http://" + std::string(kOpenRegistry) + "/v2/" + name;
  std::string place = must_run({"/usr/bin/curl", "--silent", "--fail", "--request", "POST", "--output",
                                "/dev/null", "--write-out", "%header{location}", base + "/blobs/uploads/"},
                               "the registry takes no upload");
  place += (place.find('?') == std::string::npos ? "?" : "&") + ("digest=" + digest);
  must_run({"/usr/bin/curl", "--silent", "--fail", "--request", "PUT", "--header",
            "Content-Type: application/octet-stream", "--data-binary", "@" + file, place},
           "the registry refused a blob");
  return digest;
}

std::string Registries::push_manifest(const std::string& name, const std::string& reference,
                                      const std::string& type, const std::string& body) const {
  const TemporaryDirectory scratch;
  std::ofstream(scratch / "manifest") << body;
  const std::string digest = digest_of(scratch / "manifest");
  must_run({"/usr/bin/curl", "--silent", "--fail", "--request", "PUT", "--header", "Content-Type: " + type,
            "--data-binary", "@" + (scratch / "manifest"),
            "http://" + std::string(kOpenRegistry) + "/v2/" + name + "/manifests/" +
                (reference.empty() ? digest : reference)},
           "the registry refused a manifest");
  return digest;
}

std::string Registries::push(const std::string& name, const std::string& tag, const std::string& mark,
                             const std::string& architecture) const {
  const TemporaryDirectory scratch;
  const std::string layer = engine_.state + "/layer.tar";
  const std::string packed = scratch / "layer.tar.gz";
  must_run({"/bin/sh", "-c", "gzip -n -1 <\"$0\" >\"$1\"", layer, packed}, "gzip failed");
  const json config = {
      {"architecture", architecture},
      {"os", "linux"},
      {"created", "2024-01-01T00:00:00Z"},
      {"config", {{"Env", {"PATH=/bin", "MARK=" + mark}}}},
      {"rootfs", {{"type", "layers"}, {"diff_ids", {digest_of(layer)}}}},
      {"history", {{{"created", "2024-01-01T00:00:00Z"}, {"created_by", "test"}}}},
  };
  std::ofstream(scratch / "config") << config.dump();
  const auto piece = [](const char* type, const std::string& digest, const std::string& file) {
    return json{{"mediaType", type}, {"digest", digest}, {"size", fs::file_size(file)}};
  };
  const json manifest = {
      {"schemaVersion", 2},
      {"mediaType", kManifest},
      {"config", piece("application/vnd.docker.container.image.v1+json", push_blob(name, scratch / "config"),
                       scratch / "config")},
      {"layers",
       {piece("application/vnd.docker.image.rootfs.diff.tar.gzip", push_blob(name, packed), packed)}},
  };
  return push_manifest(name, tag, kManifest, manifest.dump());
}

std::string Registries::push_list(const std::string& name, const std::string& tag,
                                  const std::string& architecture) const {
  const std::string image = push(name, "", "listed", architecture);
  const json list = {
      {"schemaVersion", 2},
      {"mediaType", kList},
      {"manifests",
       {{{"mediaType", kManifest},
         {"digest", image},
         {"size", 1},  // nobody fetches it
         {"platform", {{"architecture", architecture}, {"os", "linux"}}}}}},
  };
  return push_manifest(name, tag, kList, list.dump());
}

}  // namespace testkit
