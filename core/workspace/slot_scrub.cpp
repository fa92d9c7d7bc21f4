#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>

#include "crash_point.hpp"
#include "workspace/slot_parts.hpp"

namespace agent::workspace {

using domain::Error;
using domain::ErrorCode;
using domain::SlotRefusal;

namespace {

constexpr int kMaximumPasses = 8;
// Names are taken from a listing in portions: removing while reading may make a listing skip.
constexpr std::size_t kPortion = 1024;

// What runners, their packages and we ourselves leave in a runtime.
constexpr std::array<const char*, 16> kKnownState{"bin",     "externals",    "run.sh",
                                                  "run.cmd", "config.sh",    "config.cmd",
                                                  ".runner", ".credentials", ".credentials_rsaparams",
                                                  ".env",    ".path",        "_diag",
                                                  "_home",   "_temp",        "_tmp",
                                                  "_var_tmp"};

std::string said(int error) { return std::generic_category().message(error); }

class Scrub {
 public:
  Scrub(const Slot& slot, const RemovalOptions& options) : slot_(slot), options_(options) {}

  SlotOutcome run() {
    if (auto failure = open_slot(slot_, options_.resolve, opened_)) return failure;
    if (!opened_.root) return std::nullopt;
    if (opened_.directory) {
      // Before anything is decided from what is there: from here on only our own account changes the slot.
      RMGR_CRASH_POINT("workspace.slot.scrub.begun");
      if (auto failure = close_slot(opened_)) return failure;
      RMGR_CRASH_POINT("workspace.slot.scrub.closed");
      bool retained = false;
      if (auto failure = look_at_retained(opened_, retained)) return failure;
      if (auto failure = remove_others()) return failure;
      RMGR_CRASH_POINT("workspace.slot.scrub.removed");
      if (auto failure = prove(retained)) return failure;
      RMGR_CRASH_POINT("workspace.slot.scrub.proven");
    }
    if (auto given = give_back(opened_.root.get(), slot_); !given)
      return SlotFailure{std::nullopt, given.error()};
    return std::nullopt;
  }

 private:
  SlotOutcome remove_others() {
    for (int pass = 0;; ++pass) {
      std::vector<std::string> names;
      const int error = for_each_entry(opened_.directory.get(), [&names](const std::string& name) {
        names.push_back(name);
        return names.size() < kPortion;
      });
      if (error != 0) return refuse(SlotRefusal::slot_could_not_be_enumerated, said(error));
      if (names.empty()) return std::nullopt;
      if (std::chrono::steady_clock::now() - begun_ >= options_.limit)
        return refuse(SlotRefusal::slot_entry_could_not_be_removed,
                      counts(names.size()) + " when time was up");
      const auto before = removed_;
      for (const auto& name : names) {
        if (auto failure = remove_one(name)) return failure;
      }
      const bool full = names.size() >= kPortion && removed_ > before;
      if (full) pass = -1;
      if (pass >= kMaximumPasses)
        return refuse(SlotRefusal::slot_still_holds_runner_state, counts(names.size()));
    }
  }

  SlotOutcome remove_one(const std::string& name) {
    const auto removal = remove_entry(opened_.directory.get(), name, options_);
    if (!removal) {
      if (removal.error().code == ErrorCode::cancelled) return SlotFailure{std::nullopt, removal.error()};
      return refuse(SlotRefusal::slot_entry_could_not_be_removed, removal.error().message);
    }
    removed_ += removal->entries;
    RMGR_CRASH_POINT("workspace.slot.scrub.entry_removed");
    if (removal->complete) return std::nullopt;
    return refuse(SlotRefusal::slot_entry_could_not_be_removed,
                  std::to_string(removed_) + " entries removed; something goes on writing there");
  }

  // The slot is looked at anew from the root, so that nothing that was held open vouches for itself.
  SlotOutcome prove(bool retained) {
    OpenSlot again;
    if (auto failure = open_slot(slot_, options_.resolve, again)) return failure;
    struct stat first {
    }, second{};
    const bool same = again.directory && ::fstat(opened_.directory.get(), &first) == 0 &&
                      ::fstat(again.directory.get(), &second) == 0 && first.st_ino == second.st_ino &&
                      first.st_dev == second.st_dev;
    if (!same) return refuse(SlotRefusal::slot_escapes_its_root, "it is another directory than before");
    std::size_t left = 0;
    const int error =
        for_each_entry(again.directory.get(), [&left](const std::string&) { return ++left > 0; });
    if (error != 0) return refuse(SlotRefusal::slot_could_not_be_enumerated, said(error));
    if (left > 0) return refuse(SlotRefusal::slot_still_holds_runner_state, counts(left));
    for (const char* name : kKnownState) {
      struct stat info {};
      if (::fstatat(again.directory.get(), name, &info, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT)
        continue;
      return refuse(SlotRefusal::slot_still_holds_runner_state,
                    std::string("its listing is empty, but looking for `") + name + "` says otherwise");
    }
    bool still = false;
    if (auto failure = look_at_retained(again, still)) return failure;
    if (retained && !still) return refuse(SlotRefusal::retained_work_is_not_a_directory, "it went away");
    return std::nullopt;
  }

  [[nodiscard]] std::string counts(std::size_t left) const {
    return std::to_string(removed_) + " entries removed, " + std::to_string(left) + " left";
  }

  const Slot& slot_;
  const RemovalOptions& options_;
  OpenSlot opened_;
  std::int64_t removed_ = 0;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace

SlotOutcome scrub_slot(const Slot& slot, const RemovalOptions& options) { return Scrub(slot, options).run(); }

}  // namespace agent::workspace
