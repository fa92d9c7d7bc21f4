#include "mirror/mirror.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "mirror/digests.hpp"
#include "support/package/name.hpp"

namespace plugins::mirror {
namespace {

using rmgr::Error;
using rmgr::Status;

constexpr std::size_t kMaxDigestFile = 4096;
constexpr std::size_t kMaxDigestList = std::size_t{1} << 20;
constexpr std::size_t kChunk = std::size_t{256} << 10;

std::string directory_of(std::string_view config) {
  const auto json = nlohmann::json::parse(config, nullptr, false);
  if (json.is_object() && json.contains("directory") && json["directory"].is_string()) {
    auto path = json["directory"].get<std::string>();
    if (path.starts_with('/') && path.find('\0') == std::string::npos) return path;
  }
  throw Error(Status::invalid, "The mirror's directory is not an absolute path.");
}

}  // namespace

Mirror::Mirror(rmgr::Host /*host*/, std::string_view config_json) : directory_(directory_of(config_json)) {}

std::vector<rmgr::Package> Mirror::catalog(const rmgr::Call& call, const rmgr::PackageQuery& query) {
  const auto stem = "actions-runner-" + std::string(query.os) + "-" + std::string(query.architecture);
  std::vector<rmgr::Package> packages;
  std::optional<std::string> list;
  for (const auto& name : directory_.names()) {
    call.check();
    const auto parsed = package::parse_name(name);
    if (!parsed || parsed->stem != stem) continue;
    const auto file = directory_.open(name);
    if (!file) continue;  // removed meanwhile
    std::string digest;
    if (const auto own = directory_.read(name + ".sha256", kMaxDigestFile)) {
      digest = find_digest(*own, name, true);
    } else {
      if (!list) list = directory_.read("SHA256SUMS", kMaxDigestList).value_or("");
      digest = find_digest(*list, name, false);
    }
    packages.push_back({parsed->version, name, digest, std::int64_t{file->status.st_size}, name});
  }
  return packages;
}

void Mirror::fetch(const rmgr::Call& call, std::string_view ref, std::int64_t offset,
                   std::string_view validator, const rmgr::FetchSink& sink) {
  const std::string name(ref);
  if (offset < 0 || name.find('/') != std::string::npos || name.find('\0') != std::string::npos ||
      !package::parse_name(name)) {
    throw Error(Status::invalid, "The mirror was asked for something that is no package of its own.");
  }
  auto file = directory_.open(name);
  if (!file) throw Error(Status::not_found, "The mirror has no file " + name + " any more.");
  const auto proof = file->validator();
  const bool resumed = offset > 0 && validator == proof && offset <= file->status.st_size;
  auto position = static_cast<off_t>(resumed ? offset : 0);
  sink.begin(file->status.st_size, proof, offset > 0 && !resumed);
  std::string buffer(kChunk, '\0');
  // Up to the size that was announced, so that a file that grows cannot hold the call.
  const auto size = file->status.st_size;
  while (position < size) {
    call.check();
    const auto wanted = std::min(buffer.size(), static_cast<std::size_t>(size - position));
    const auto got = ::pread(file->descriptor.get(), buffer.data(), wanted, position);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error(Status::retry, "The mirror's file " + name + " cannot be read to its end.");
    if (got == 0) break;
    position += got;
    sink.chunk(std::string_view(buffer).substr(0, static_cast<std::size_t>(got)));
  }
  if (::fstat(file->descriptor.get(), &file->status) != 0 || file->validator() != proof || position != size) {
    throw Error(Status::retry, "The mirror's file " + name + " changed while it was read.");
  }
}

}  // namespace plugins::mirror
