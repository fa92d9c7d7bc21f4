// What the core sees of a plugin: three C++ facades over the C interfaces. Every call blocks and runs in a
// lane.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/attempt.hpp"
#include "domain/decision.hpp"
#include "domain/labels.hpp"
#include "plugin/call.hpp"

namespace agent::plugin {

using domain::Result;

enum class Readiness {
  ready,
  unsupported,
  not_installed,
  permission_denied,
  image_unavailable,
  disk_quota_unavailable,
  degraded
};
std::string_view to_string(Readiness readiness);
struct Probe {
  Readiness readiness = Readiness::degraded;
  std::string remedy;
  std::string note;
  bool package_inside = false;  // no runner package is to be made ready for its attempts
};

struct EnvironmentState {
  domain::EnvironmentView view = domain::EnvironmentView::unknown;
  bool clean = false;
  std::optional<std::int64_t> exit_code;
  bool out_of_memory = false;
};

struct StartFailure {
  domain::Error error;
  bool process_existed = true;
  std::int64_t live_pid = 0;
};

// What a provider is told about one attempt, beside the attempt itself.
struct Allocation {
  const domain::Attempt* attempt = nullptr;  // outlives the call
  domain::InstallationId host;
  std::string package;  // absolute path of the unpacked package
};

// What a resource of an isolated provider says of itself.
struct OwnedEnvironment {
  std::string host, attempt, generation, image;
  domain::EnvironmentId environment;
};

class ExecutionProvider {
 public:
  virtual ~ExecutionProvider() = default;
  [[nodiscard]] virtual bool isolated() const = 0;
  [[nodiscard]] virtual bool holds() const = 0;
  virtual Result<Probe> probe(Call& call, const domain::Policy& policy) = 0;
  // The digest-pinned image. For isolated providers only, as are the three below.
  virtual Result<std::string> resolve(Call& call, const domain::Policy& policy) = 0;
  virtual Result<std::vector<OwnedEnvironment>> recover(Call& call, const Allocation& allocation) = 0;
  virtual Result<std::vector<OwnedEnvironment>> enumerate_owned(Call& call,
                                                                const domain::InstallationId& host) = 0;
  virtual bool owns(Call& call, const Allocation& allocation, const domain::EnvironmentId& environment) = 0;
  // Lines of the provider's own vocabulary. What an isolated one says of the job is evidence.
  virtual Result<std::vector<std::string>> diagnostics(Call& call, const Allocation& allocation) = 0;
  virtual Result<std::optional<domain::EnvironmentId>> prepare(Call& call, const Allocation& allocation) = 0;
  // Whether prepared environments can wait nearly started; warm() fails as unsupported otherwise.
  [[nodiscard]] virtual bool warms() const = 0;
  virtual Result<void> warm(Call& call, const Allocation& allocation) = 0;
  virtual Result<domain::ProcessIdentity> hold(Call& call, const Allocation& allocation) = 0;
  // Nothing on success.
  virtual std::optional<StartFailure> start(Call& call, const Allocation& allocation,
                                            std::string_view secret) = 0;
  virtual Result<EnvironmentState> inspect(Call& call, const Allocation& allocation) = 0;
  virtual Result<void> stop(Call& call, const Allocation& allocation, domain::Millis grace) = 0;
  virtual Result<void> remove(Call& call, const Allocation& allocation) = 0;
};

struct Registration {
  domain::RunnerId runner;
  std::string jit_config;  // secret; the receiver moves it into the vault and wipes this
};
struct Demand {
  std::vector<domain::Job> jobs;
  bool unchanged = false;
  std::int64_t quota_left_percent = -1;
};
struct Runner {
  domain::RunnerId id;
  std::string name;
  bool online = false;
  bool busy = false;
};

class Gateway {
 public:
  virtual ~Gateway() = default;
  virtual Result<Demand> demand(Call& call, const domain::Target& target) = 0;
  virtual Result<std::vector<Runner>> inventory(Call& call, const domain::Target& target) = 0;
  virtual Result<Registration> register_runner(Call& call, const domain::Target& target,
                                               const std::string& name, std::int64_t group,
                                               const std::vector<std::string>& labels,
                                               const std::string& work_folder) = 0;
  // busy: it runs a job and stays.
  virtual Result<void> deregister(Call& call, const domain::Target& target, domain::RunnerId runner) = 0;
};

struct PackageOffer {
  std::string version, filename, sha256;
  std::int64_t size = -1;
  std::string ref;
};

class PackageSource {
 public:
  virtual ~PackageSource() = default;
  virtual Result<std::vector<PackageOffer>> catalog(Call& call, const std::string& target,
                                                    const std::string& os,
                                                    const std::string& architecture) = 0;
  struct Receiver {
    std::function<Result<void>(std::int64_t total, std::string_view validator, bool restarted)> begin;
    std::function<Result<void>(std::string_view bytes)> chunk;
  };
  virtual Result<void> fetch(Call& call, std::string_view ref, std::int64_t offset,
                             std::string_view validator, const Receiver& receiver) = 0;
};

}  // namespace agent::plugin
