#include "support/engine/readiness.hpp"

namespace plugins::engine {
namespace {

using rmgr::Error;
using rmgr::Probe;
using rmgr::Readiness;
using rmgr::Status;

Readiness readiness_of(NoConnection::Why why) {
  switch (why) {
    case NoConnection::Why::absent: return Readiness::not_installed;
    case NoConnection::Why::forbidden: return Readiness::permission_denied;
    case NoConnection::Why::silent: break;
  }
  return Readiness::degraded;
}

Readiness readiness_of(Status status) {
  switch (status) {
    case Status::unsupported: return Readiness::unsupported;
    case Status::denied:
    case Status::unauthorized: return Readiness::permission_denied;
    default: return Readiness::degraded;
  }
}

}  // namespace

Probe not_ready(Readiness readiness, std::string remedy) { return {readiness, std::move(remedy), ""}; }

Probe probe_of(const std::function<Probe()>& look) {
  try {
    return look();
  } catch (const NoConnection& nobody) {
    return not_ready(readiness_of(nobody.why()), nobody.what());
  } catch (const Error& error) {
    if (error.status() == Status::cancelled) throw;
    return not_ready(readiness_of(error.status()), error.what());
  }
}

std::optional<Probe> misnamed_image(std::string_view image) {
  if (image.empty() || sound_reference(image)) return std::nullopt;
  return not_ready(Readiness::image_unavailable,
                   "The policy's image is no name of an image; correct profile.image.");
}

std::optional<Probe> absent_image(const rmgr::Call& call, Client& client, const ImageSettings& settings,
                                  const std::string& image) {
  const bool must_be_here = settings.pull == Pull::never && !image.empty();
  if (!must_be_here || client.inspect_image(call, image)) return std::nullopt;
  return not_ready(
      Readiness::image_unavailable,
      "The image " + image + " is not in the engine; pull it there, or let it be pulled by pull: missing.");
}

}  // namespace plugins::engine
