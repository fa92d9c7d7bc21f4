// Gateways and package sources under test.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "conform/plugin.hpp"
#include "rmgr/abi/gateway.h"
#include "rmgr/abi/package_source.h"

namespace rmgr::conform {

struct Runner {
  std::int64_t id = 0;
  std::string name;
  bool operator==(const Runner&) const = default;
};

class GatewayClient : public Instance {
 public:
  explicit GatewayClient(const Context& context, std::set<std::string> absent = {})
      : Instance(context, std::move(absent)),
        target_(context.setting("target", "conform/conform")),
        label_(context.setting("label", "self-hosted")) {}

  Answer demand(int& jobs, const Within& within = {});
  Answer inventory(std::vector<Runner>& runners, const Within& within = {});
  Answer register_runner(const std::string& name, std::int64_t& id, const Within& within = {});
  Answer deregister(std::int64_t id, const Within& within = {});
  void aim(std::string target) { target_ = std::move(target); }
  // Of the last registration; hearing it anywhere else is a leak.
  [[nodiscard]] const std::string& secret() const { return secret_; }
  // The first sink call of the next operation is refused.
  void refuse_next() { refuse_ = true; }

  // Both fail the test unless they succeed.
  [[nodiscard]] std::int64_t registered(const std::string& name);
  [[nodiscard]] bool lists(std::int64_t id, const std::string& name);

 private:
  Operation operation(const char* name, const Within& within);
  std::string target_, label_, secret_;
  bool refuse_ = false;
};

struct Package {
  std::string version, filename, sha256, ref;
  std::int64_t size = -1;
  bool operator==(const Package&) const = default;
};

struct Fetched {
  std::int64_t total = -1;
  std::string validator;
  bool restarted = false;
  int begins = 0;
  int chunks = 0;
  std::string bytes;
  std::string problem;  // how the stream broke the contract
};

class SourceClient : public Instance {
 public:
  explicit SourceClient(const Context& context, std::set<std::string> absent = {})
      : Instance(context, std::move(absent)),
        target_(context.setting("target", "conform/conform")),
        os_(context.setting("os", "linux")),
        architecture_(context.setting("architecture", "x64")) {}

  Answer catalog(std::vector<Package>& packages, const Within& within = {});
  // `seen` is told of each chunk and may cancel the call.
  Answer fetch(const std::string& ref, std::int64_t offset, const std::string& validator, Fetched& out,
               const Within& within = {}, const std::function<void(CallState&)>& seen = {});
  void refuse_next() { refuse_ = true; }
  void aim(std::string target) { target_ = std::move(target); }

  // The first package on offer; skips the test if there is none.
  [[nodiscard]] Package first();

 private:
  std::string target_, os_, architecture_;
  bool refuse_ = false;
};

}  // namespace rmgr::conform
