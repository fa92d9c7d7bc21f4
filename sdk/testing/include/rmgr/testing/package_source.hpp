// A package source under test.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rmgr/package_source.hpp"
#include "rmgr/testing/instance.hpp"

namespace rmgr::testing {

// What one fetch delivered.
struct Fetched {
  std::int64_t total = -1;
  std::string validator;
  bool restarted = false;
  std::string bytes;
};

// Destroys its instance when it ends.
class PackageSource {
 public:
  PackageSource(std::shared_ptr<detail::Library> library, std::string name, const std::string& config)
      : instance_(std::make_unique<Instance>(std::move(library), RMGR_INTERFACE_PACKAGE_SOURCE,
                                             std::move(name), config)) {
    if (functions().catalog == nullptr || functions().fetch == nullptr)
      detail::refuse("The package source lacks a function that every source has.");
  }

  Answer<std::vector<Package>> catalog(const PackageQuery& query, CallControl control = CallControl()) {
    std::vector<Package> packages;
    using Call = detail::ItemCall<rmgr_package_sink, rmgr_package>;
    const auto call = instance_->make_call<Call>(
        "catalog", std::move(control), [&packages](Call& open, const rmgr_package& item) {
          Package package{open.text(item.version), open.text(item.filename), open.text(item.sha256),
                          item.size, open.text(item.ref, 4096)};
          const auto ends = [&](std::string_view end) {
            return package.filename.size() > end.size() &&
                   std::string_view(package.filename).substr(package.filename.size() - end.size()) == end;
          };
          if (!ends(".tar.gz") && !ends(".zip"))
            open.violation("offers a file that is neither .tar.gz nor .zip");
          const bool digest = package.sha256.size() == 64 &&
                              package.sha256.find_first_not_of("0123456789abcdef") == std::string::npos;
          if (!package.sha256.empty() && !digest) open.violation("offers a digest that is none");
          if (package.size < -1) open.violation("offers a package of a negative size");
          if (package.ref.empty()) open.violation("offers a package that cannot be fetched");
          packages.push_back(std::move(package));
        });
    const rmgr_package_query view{rmgr::detail::size_of<rmgr_package_query>(), 0, to_abi(query.target),
                                  to_abi(query.os), to_abi(query.architecture)};
    Outcome outcome = instance_->run(call, [&] {
      return functions().catalog(handle(), call->call(), &view, call->sink(), call->error());
    });
    return detail::answer(std::move(outcome), std::move(packages));
  }

  Answer<Fetched> fetch(std::string_view ref, std::int64_t offset = 0, std::string_view validator = {},
                        CallControl control = CallControl()) {
    const auto call = instance_->make_call<FetchCall>("fetch", std::move(control));
    Outcome outcome = instance_->run(call, [&] {
      return functions().fetch(handle(), call->call(), to_abi(ref), offset, to_abi(validator), call->sink(),
                               call->error());
    });
    const Fetched& got = call->fetched;
    if (outcome.ok() && !call->begun) call->violation("succeeded without a begin");
    const std::int64_t whole =
        static_cast<std::int64_t>(got.bytes.size()) + (got.restarted ? std::int64_t{0} : offset);
    if (outcome.ok() && got.total >= 0 && whole != got.total)
      call->violation("delivered another number of bytes than it had announced");
    return detail::answer(std::move(outcome), std::move(call->fetched));
  }

 private:
  using Instance = detail::Instance<rmgr_package_source>;

  class FetchCall final : public detail::CheckedCall {
   public:
    FetchCall(detail::World& world, std::string operation, CallControl control)
        : CheckedCall(world, std::move(operation), std::move(control)) {
      sink_ = {rmgr::detail::size_of<rmgr_fetch_sink>(), 0, static_cast<CheckedCall*>(this), &begin, &chunk};
    }
    [[nodiscard]] const rmgr_fetch_sink* sink() const { return &sink_; }
    Fetched fetched;
    bool begun = false;

   private:
    static rmgr_status RMGR_CALL begin(void* ctx, std::int64_t total, rmgr_str validator,
                                       std::int32_t restarted) noexcept {
      return item(ctx, [&](CheckedCall& self) {
        auto& call = static_cast<FetchCall&>(self);
        if (call.begun) call.violation("began twice");
        call.begun = true;
        call.fetched.total = total;
        call.fetched.validator = call.text(validator);
        call.fetched.restarted = restarted != 0;
      });
    }
    static rmgr_status RMGR_CALL chunk(void* ctx, const std::uint8_t* bytes, std::size_t size) noexcept {
      return item(ctx, [&](CheckedCall& self) {
        auto& call = static_cast<FetchCall&>(self);
        if (!call.begun) call.violation("wrote bytes before it began");
        if (size > (1U << 20U)) call.violation("wrote a chunk of more than 1 MiB");
        if (bytes != nullptr) call.fetched.bytes.append(reinterpret_cast<const char*>(bytes), size);
      });
    }
    rmgr_fetch_sink sink_{};
  };

  [[nodiscard]] const rmgr_package_source& functions() const { return instance_->table(); }
  [[nodiscard]] rmgr_instance* handle() const { return instance_->handle(); }
  std::unique_ptr<Instance> instance_;
};

}  // namespace rmgr::testing
