// A package source answers which runner package is current, and delivers its bytes. Derive from
// rmgr::PackageSource; see component.hpp for what else the class needs.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "rmgr/abi/package_source.h"
#include "rmgr/component.hpp"

namespace rmgr {

// Views live as long as the call.
struct PackageQuery {
  std::string_view target;        // owner/repository or an organization; ignore it if you serve everybody
  std::string_view os;            // linux, osx or win
  std::string_view architecture;  // x64, arm64 or arm
};

struct Package {
  std::string version;     // 2 to 4 numbers with dots
  std::string filename;    // of the archive; its ending says the format (.tar.gz or .zip)
  std::string sha256;      // 64 lower-case hex digits of the archive; empty if none is published
  std::int64_t size = -1;  // bytes, or -1 if unknown
  std::string ref;         // what fetch wants; no secrets, at most 4096 bytes
};

// The receiving end of one fetch: begin once, then chunks in order. Both throw when the host wants no more;
// let that pass through.
class FetchSink {
 public:
  explicit FetchSink(const rmgr_fetch_sink* sink) noexcept : sink_(sink) {}
  // `total`: bytes of the whole archive, -1 if unknown. `validator`: what proves on a later resume that it is
  // still the same file; may be empty. `restarted`: the bytes start at 0 although an offset was asked for.
  void begin(std::int64_t total, std::string_view validator, bool restarted) const {
    detail::expect_taken(sink_->begin(sink_->ctx, total, to_abi(validator), restarted ? 1 : 0));
  }
  // Any size; the boundary's chunks of at most 1 MiB are cut here.
  void chunk(std::string_view bytes) const {
    constexpr std::size_t most = std::size_t{1} << 20;
    while (!bytes.empty()) {
      const std::string_view part = bytes.substr(0, std::min(most, bytes.size()));
      detail::expect_taken(
          sink_->chunk(sink_->ctx, reinterpret_cast<const std::uint8_t*>(part.data()), part.size()));
      bytes.remove_prefix(part.size());
    }
  }

 private:
  const rmgr_fetch_sink* sink_;
};

class PackageSource {
 public:
  virtual ~PackageSource() = default;

  // --- ordinary lane
  // Every package on offer for the query; none is a valid answer.
  virtual std::vector<Package> catalog(const Call& call, const PackageQuery& query) = 0;
  // Streams the archive named by `ref` from `offset` on. `validator` is what an earlier begin gave, or empty.
  virtual void fetch(const Call& call, std::string_view ref, std::int64_t offset, std::string_view validator,
                     const FetchSink& sink) = 0;
};

namespace detail {

struct PackageSourceCalls {
  static PackageSource& of(rmgr_instance* self) noexcept { return instance<PackageSource>(self); }

  static rmgr_status RMGR_CALL catalog(rmgr_instance* self, const rmgr_call* call,
                                       const rmgr_package_query* query, const rmgr_package_sink* sink,
                                       const rmgr_error* error) noexcept {
    return guard(error, [&] {
      const PackageQuery asked{from_abi(query->target), from_abi(query->os), from_abi(query->architecture)};
      for (const Package& one : of(self).catalog(Call(call), asked)) {
        const rmgr_package item{size_of<rmgr_package>(), 0,        to_abi(one.version), to_abi(one.filename),
                                to_abi(one.sha256),      one.size, to_abi(one.ref)};
        expect_taken(sink->write(sink->ctx, &item));
      }
    });
  }
  static rmgr_status RMGR_CALL fetch(rmgr_instance* self, const rmgr_call* call, rmgr_str ref,
                                     std::int64_t offset, rmgr_str validator, const rmgr_fetch_sink* sink,
                                     const rmgr_error* error) noexcept {
    return guard(error, [&] {
      of(self).fetch(Call(call), from_abi(ref), offset, from_abi(validator), FetchSink(sink));
    });
  }
};

template <class T>
inline constexpr rmgr_package_source package_source_table{
    component<T, PackageSource, rmgr_package_source>(),
    &PackageSourceCalls::catalog,
    &PackageSourceCalls::fetch,
};

}  // namespace detail
}  // namespace rmgr
