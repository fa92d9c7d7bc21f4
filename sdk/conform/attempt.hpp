// An execution provider under test: attempts, and every operation on them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "conform/plugin.hpp"
#include "rmgr/abi/execution_provider.h"

namespace rmgr::conform {

// What the runner's stand-in does with its one-time secret, which says so itself: NEEDLE.MODE.CODE. That a
// runner ends with the code of its secret proves that exactly this secret has reached it.
enum class Mode {
  ends,   // at once, with the code
  waits,  // until it is asked to end
  deaf,   // until it is killed
};

// Every secret that the suite gives away begins with this.
inline constexpr std::string_view needle_prefix = "conform-needle-";

struct Attempt {
  std::string host, attempt, generation, image, runner_name, runtime, package;
  std::string environment;
  std::int64_t pid = 0;
  std::uint64_t start_token = 0;
  std::string boot_id;
  std::string secret;

  [[nodiscard]] Json to_json() const;
  static Attempt from_json(const Json& json);
  // For the next phase of a test, and back.
  void save(const Context& context) const;
  static Attempt saved(const Context& context);
};

// Makes the attempt's directory with the stand-in of the runner in it. `code` is 0 to 255.
[[nodiscard]] Attempt make_attempt(const Context& context, Mode mode, int code = 0);
[[nodiscard]] std::string random_hex(std::size_t digits);

struct Owned {
  std::string host, attempt, generation, image, environment;
};

class Provider : public Instance {
 public:
  explicit Provider(const Context& context, std::set<std::string> absent = {})
      : Instance(context, std::move(absent)) {}

  [[nodiscard]] bool holds() const { return (flags() & RMGR_PROVIDER_HOLDS) != 0; }
  [[nodiscard]] bool isolated() const { return (flags() & RMGR_PROVIDER_ISOLATED) != 0; }

  Answer probe(rmgr_probe& out, std::string& remedy, const Within& within = {});
  Answer resolve(std::string& image, const Within& within = {});
  // Fill in what they answer.
  Answer prepare(Attempt& attempt, const Within& within = {});
  Answer hold(Attempt& attempt, const Within& within = {});
  Answer start(const Attempt& attempt, rmgr_start_result& result, const Within& within = {});
  Answer inspect(const Attempt& attempt, rmgr_environment_state& state, const Within& within = {});
  Answer recover(const Attempt& attempt, std::vector<Owned>& found, const Within& within = {});
  // `cancel_after` cancels the call that runs.
  Answer stop(const Attempt& attempt, Millis grace, const Within& within = {},
              std::optional<Millis> cancel_after = {});
  Answer remove(const Attempt& attempt, const Within& within = {});
  Answer enumerate(const std::string& host, std::vector<Owned>& found, const Within& within = {});
  [[nodiscard]] bool owns(const Attempt& attempt, const std::string& environment);
  Answer diagnostics(const Attempt& attempt, std::vector<std::string>& lines);

  // --- steps that must go well; they fail the test otherwise
  // Skips the test if the provider says that it is not ready here. Fills in the image.
  void need_ready(const Context& context);
  void need_machine();              // the first half of it, without an image
  void prepared(Attempt& attempt);  // prepare, and hold where it holds
  void started(Attempt& attempt);   // all of that, and start
  [[nodiscard]] rmgr_environment_state state(const Attempt& attempt);
  // Looks until the state is one of two or the patience is over; answers the last one.
  [[nodiscard]] rmgr_environment_state await(const Attempt& attempt, std::int32_t one, std::int32_t other);
  [[nodiscard]] rmgr_environment_state await_exit(const Attempt& attempt) {
    return await(attempt, RMGR_ENVIRONMENT_EXITED, RMGR_ENVIRONMENT_MISSING);
  }
  [[nodiscard]] rmgr_environment_state await_running(const Attempt& attempt);
  void stopped(const Attempt& attempt);
  void removed(const Attempt& attempt);

 private:
  const rmgr_allocation* allocation(const Attempt& attempt);
  const rmgr_profile* profile();
  const rmgr_owned_sink* owned_sink(Operation& operation, std::vector<Owned>& found);

  std::string image_;
};

[[nodiscard]] std::string state_name(std::int32_t state);

}  // namespace rmgr::conform
