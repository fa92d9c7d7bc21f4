#include "sample.hpp"

namespace sample {
namespace {

constexpr std::string_view archive = "sample package bytes";

}  // namespace

Source::Source(rmgr::Host, std::string_view) {}

std::vector<rmgr::Package> Source::catalog(const rmgr::Call&, const rmgr::PackageQuery& query) {
  if (query.os != "linux") return {};
  return {{"2.300.0", "actions-runner-linux-x64-2.300.0.tar.gz",
           "f3a2b7b0f86ba7f5aeb3fdd68a0c20e0c4e5d6f3a6de0d8fbd4b7e0a7a7d2f6e",
           static_cast<std::int64_t>(archive.size()), "sample"}};
}

void Source::fetch(const rmgr::Call& call, std::string_view ref, std::int64_t offset, std::string_view,
                   const rmgr::FetchSink& sink) {
  if (ref != "sample") throw rmgr::Error(rmgr::Status::not_found, "The sample source has no such package.");
  const auto size = static_cast<std::int64_t>(archive.size());
  const bool restarted = offset < 0 || offset > size;
  sink.begin(size, "v1", restarted);
  call.check();
  sink.chunk(archive.substr(restarted ? 0 : static_cast<std::size_t>(offset)));
}

}  // namespace sample
