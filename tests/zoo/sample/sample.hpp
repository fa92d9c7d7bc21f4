// A correct plugin, and an example of how short one can be. Its provider runs the listener through the host's
// process service; on a host without that service it only pretends to.
#pragma once

#include <mutex>

#include "rmgr/plugin.hpp"
#include "zoo/sample/store.hpp"

namespace sample {

class Provider : public rmgr::ExecutionProvider {
 public:
  static constexpr std::uint32_t flags = RMGR_PROVIDER_HOLDS;
  static constexpr std::string_view config_schema = R"({
    "type": "object",
    "properties": {
      "greeting": {"type": "string", "maxLength": 64, "description": "reported by probe"},
      "token": {"type": "string", "x-secret": true},
      "level": {"type": "integer", "minimum": 1, "maximum": 9, "default": 1}
    }
  })";
  Provider(rmgr::Host host, std::string_view config);

  rmgr::Probe probe(const rmgr::Call& call, const rmgr::Profile& profile) override;
  std::optional<std::string> prepare(const rmgr::Call& call, const rmgr::Allocation& allocation) override;
  rmgr::ProcessIdentity hold(const rmgr::Call& call, const rmgr::Allocation& allocation) override;
  void start(const rmgr::Call& call, const rmgr::Allocation& allocation, rmgr::SecretView jit_config,
             rmgr::StartResult& result) override;
  rmgr::EnvironmentState inspect(const rmgr::Call& call, const rmgr::Allocation& allocation) override;
  std::vector<rmgr::Owned> recover(const rmgr::Call& call, const rmgr::Allocation& allocation) override;
  void stop(const rmgr::Call& call, const rmgr::Allocation& allocation, rmgr::Millis grace) override;
  void remove(const rmgr::Call& call, const rmgr::Allocation& allocation) override;
  std::vector<rmgr::Owned> enumerate_owned(const rmgr::Call& call, std::string_view host) override;
  bool owns(const rmgr::Call& call, const rmgr::Allocation& allocation,
            std::string_view environment) override;

 protected:
  [[nodiscard]] const rmgr::Host& host() const { return host_; }
  // What is kept of an attempt, under its id.
  struct Record {
    std::string host, generation, pretended;
  };
  [[nodiscard]] std::optional<Record> find(std::string_view attempt) const;
  void keep(std::string_view attempt, const Record& record);

 private:
  Record must_find(std::string_view attempt) const;

  rmgr::Host host_;
  std::string config_;
  bool pretends_;
  mutable std::mutex mutex_;  // the ordinary and the control lane meet here
  Store store_;
  std::int64_t next_pid_ = 1000;
};

// Remembers registrations; its demand is one queued job for each target.
class Gateway : public rmgr::Gateway {
 public:
  static constexpr std::uint32_t flags = 0;
  static constexpr std::string_view config_schema = R"({"type": "object", "properties": {}})";
  Gateway(rmgr::Host host, std::string_view config);

  rmgr::Demand demand(const rmgr::Call& call, std::string_view target) override;
  std::vector<rmgr::Runner> inventory(const rmgr::Call& call, std::string_view target) override;
  rmgr::Registration register_runner(const rmgr::Call& call,
                                     const rmgr::RegistrationRequest& request) override;
  void deregister(const rmgr::Call& call, std::string_view target, std::int64_t runner_id) override;

 private:
  std::mutex mutex_;
  Store runners_;  // name by id
};

// Offers one archive of known bytes.
class Source : public rmgr::PackageSource {
 public:
  static constexpr std::uint32_t flags = 0;
  static constexpr std::string_view config_schema = R"({"type": "object", "properties": {}})";
  Source(rmgr::Host host, std::string_view config);

  std::vector<rmgr::Package> catalog(const rmgr::Call& call, const rmgr::PackageQuery& query) override;
  void fetch(const rmgr::Call& call, std::string_view ref, std::int64_t offset, std::string_view validator,
             const rmgr::FetchSink& sink) override;
};

}  // namespace sample
