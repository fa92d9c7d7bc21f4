// The containers of attempts: what every provider does with them that runs one container for each attempt.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rmgr/execution_provider.hpp"
#include "support/engine/access.hpp"
#include "support/engine/identity.hpp"
#include "support/engine/waiting.hpp"

namespace plugins::engine {

// The word with which a container says that it has read the one-time secret.
inline constexpr std::string_view taken_word = "rmgr-secret-taken";

// Throws invalid unless the package holds that program.
void check_package(std::string_view package, const std::string& listener);

// What a container's state is for its attempt.
rmgr::EnvironmentState state_of(const Container& container);

// What a failed removal is: to be tried again, whatever failed.
rmgr::Error deferred(const rmgr::Error& error);

// Over one connection; throws rmgr::Error as the operation of a provider that uses it. What it undoes after a
// failure it undoes in time of its own, and what it cannot undo a removal will.
class Sandboxes {
 public:
  explicit Sandboxes(Connection connection) : connection_(std::move(connection)) {}

  [[nodiscard]] Client& client() const { return *connection_.client; }
  [[nodiscard]] const std::string& product() const { return connection_.product; }

  // The allocation's container: by its id, or by its name if it bears the identity. Nothing if it is not
  // there.
  [[nodiscard]] std::optional<Container> find(const rmgr::Call& call,
                                              const rmgr::Allocation& allocation) const;
  // Its own that is there already, ready to be filled; throws if the name is a stranger's or it was started.
  [[nodiscard]] std::optional<std::string> adopt(const rmgr::Call& call,
                                                 const rmgr::Allocation& allocation) const;
  // Answers the id, also of one that an earlier request made whose answer was lost.
  [[nodiscard]] std::string create(const rmgr::Call& call, const rmgr::Allocation& allocation,
                                   const ContainerSpec& spec) const;
  // Removes what a failed preparation made.
  void discard(const rmgr::Call& call, const rmgr::Allocation& allocation,
               const std::optional<std::string>& container) const;

  // Starts the container, and hands it the secret as one line; returns once it has said `taken_word`.
  // `needed`: what the image must have for that, in the words of the failure. `waiting`: those that were
  // started ahead, of which this one may be one.
  void start(const rmgr::Call& call, const rmgr::Allocation& allocation, rmgr::SecretView jit_config,
             const std::string& needed, rmgr::StartResult& result, Waiting* waiting = nullptr) const;
  // Starts the container ahead, and keeps it in `waiting`.
  void warm(const rmgr::Call& call, const rmgr::Allocation& allocation, Waiting& waiting) const;
  // What waits for its secret is prepared.
  [[nodiscard]] rmgr::EnvironmentState inspect(const rmgr::Call& call, const rmgr::Allocation& allocation,
                                               const Waiting* waiting = nullptr) const;
  // Returns when it does not run; throws busy if it does still.
  void end(const rmgr::Call& call, const std::string& id, rmgr::Millis grace) const;
  void stop(const rmgr::Call& call, const rmgr::Allocation& allocation, rmgr::Millis grace) const;
  void remove(const rmgr::Call& call, const rmgr::Allocation& allocation) const;
  // Containers, and networks that were left without one, that bear every label.
  [[nodiscard]] std::vector<rmgr::Owned> list(const rmgr::Call& call, const Labels& labels) const;
  [[nodiscard]] std::vector<rmgr::Owned> recover(const rmgr::Call& call,
                                                 const rmgr::Allocation& allocation) const;
  [[nodiscard]] bool owns(const rmgr::Call& call, const rmgr::Allocation& allocation,
                          std::string_view environment) const;
  // `path`: where the runner in the container keeps its own. `while_running`: whether the engine shows files
  // of a container that runs.
  [[nodiscard]] std::vector<std::string> diagnostics(const rmgr::Call& call,
                                                     const rmgr::Allocation& allocation,
                                                     const std::string& path, bool while_running) const;

 private:
  // `process_existed`: whether the container may have run when it throws.
  [[nodiscard]] Attached launch(const rmgr::Call& call, const rmgr::Allocation& allocation,
                                bool& process_existed) const;
  void hand_over(const rmgr::Call& call, const rmgr::Allocation& allocation, Attached& attached,
                 std::string_view secret, const std::string& needed) const;
  void end_quietly(const rmgr::Call& call, const rmgr::Allocation& allocation) const;
  // What the runner's own diagnostics in the container prove; empty: nothing.
  [[nodiscard]] std::string evidence(const rmgr::Call& call, const std::string& id,
                                     const std::string& path) const;

  Connection connection_;
};

}  // namespace plugins::engine
