// The one loop: events in, rows committed, effects out. Owns the live attempts in memory and the journal
// behind them; one thread calls it. The same object runs in the daemon and in the simulator.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "domain/capacity.hpp"
#include "domain/credential.hpp"
#include "domain/explain.hpp"
#include "journal/journal.hpp"
#include "observe/log.hpp"
#include "reconcile/world.hpp"

namespace agent::reconcile {

// History is forgotten in steps of at most this many attempts, so that no turn takes long.
inline constexpr std::int64_t kHistoryPruneStep = 100;

struct EngineOptions {
  std::int64_t host_capacity = 1;
  std::int64_t target_cap = 0;
  domain::Millis poll_quiet{10'000};
  domain::Millis poll_active{60'000};
  domain::Millis readiness_age{
      60'000};  // an older probe is asked anew, and admits nothing after five times that
  std::int64_t keep_attempts = 10'000;
  domain::Millis keep_for{30LL * 24 * 3600 * 1000};
};

// What status shows of one policy.
struct PolicyView {
  domain::Policy policy;
  bool configured = true;
  std::int64_t queued = 0, busy = 0, active = 0;
  std::int64_t waiting = 0;  // of the active ones: prepared ahead of a job
  domain::LimitingFactor limited_by = domain::LimitingFactor::none;
  std::string remedy, note;
  std::string root_refusal;                                   // a word, while its root is refused
  std::map<std::int64_t, domain::SlotRefusal> refused_slots;  // that no attempt holds
};
// The root of a configured policy.
struct RootView {
  domain::PolicyName policy;
  std::string root;
  bool shared = true;  // with other policies, if they want it too
};
// A sandbox that is left alone, because it is not certain whose it is.
struct SandboxView {
  std::string provider, environment;  // the environment is empty where several may be meant
  std::string attempt;
};
// Why a job waits or a policy starts nothing, in words for an operator.
struct Explanation {
  domain::LimitingFactor limited_by = domain::LimitingFactor::none;
  std::vector<std::string> facts;     // what is known, one sentence each
  std::vector<std::string> factors;   // what stands in the way, the first one first
  std::vector<std::string> remedies;  // what to do about it, in the same order
};
struct JournalView {
  domain::JournalState state = domain::JournalState::ready;
  std::string message;  // what was seen and what to do; empty when ready
};
struct TargetView {
  TargetKey target;
  std::optional<domain::Instant> last_contact;
  domain::CredentialState credential = domain::CredentialState::unknown;
  std::string error;
  bool recovering = false;
  std::map<domain::JobRefusal, std::int64_t> refused_jobs;
};

class Engine {
 public:
  Engine(EngineOptions options, World& world, journal::Journal& journal, observe::Log& log);

  // Reads what is live and tells it that a daemon is there again. Launches stay closed for each target until
  // its first pass has seen everything that was live.
  domain::Result<void> start(std::vector<domain::Policy> policies);

  // Other policies and limits from now on, or why all of it is refused: a policy with attempts that are not
  // cleaned keeps its target, gateway, provider, workspace and root. A policy that is not among them drains.
  // Call turn() afterwards.
  domain::Result<void> reload(EngineOptions options, std::vector<domain::Policy> policies);

  // The operator has proof that nothing of this attempt runs. What it still owes is done as ever. Refused
  // while an effect of it is in flight, or if it was seen alive. Call turn() afterwards.
  domain::Result<void> forget(const domain::AttemptId& attempt);

  // Answers and hints; each only queues. Call turn() afterwards.
  void on_event(lifecycle::Event event);
  void on_look(Look look);
  void on_inventory(Inventory inventory);
  void on_demand(DemandAnswer demand);
  void on_readiness(ReadinessAnswer readiness);
  // All that a provider found of this host's. What belongs to no attempt is shown and left alone.
  void on_sandboxes(const domain::InstanceName& provider, const std::vector<ListedSandbox>& found);
  void on_residue(std::vector<ResidueSeen> seen);
  void on_reserve(ReserveAnswer answer);
  void on_exit_hint(const domain::AttemptId& attempt);
  void poll_now(const TargetKey& target);

  // Takes everything queued and due, steps, commits once, issues effects. Never blocks but for the commit.
  void turn();
  // When turn() wants to be called although nothing was queued.
  [[nodiscard]] std::optional<domain::Instant> next_wakeup() const;

  // Stops admitting; what is in flight ends.
  void drain();
  [[nodiscard]] bool draining() const { return draining_; }
  // Nothing is in flight: no launch under way and no effect unanswered.
  [[nodiscard]] bool quiescent() const;

  [[nodiscard]] std::vector<domain::Attempt> attempts() const;  // the live ones, by grant time
  [[nodiscard]] std::vector<PolicyView> policies() const;
  [[nodiscard]] std::vector<TargetView> targets() const;
  [[nodiscard]] std::vector<RootView> roots() const;
  // Attempts whose slot was refused when it was cleaned last; each keeps its slot.
  [[nodiscard]] std::map<domain::AttemptId, domain::SlotRefusal> quarantined_slots() const;
  [[nodiscard]] std::vector<SandboxView> quarantined_sandboxes() const;
  // Nothing if there is no such policy, or if no target has listed that job.
  [[nodiscard]] std::optional<Explanation> explain(const domain::PolicyName& policy) const;
  [[nodiscard]] std::optional<Explanation> explain(domain::JobId job) const;
  [[nodiscard]] std::int64_t active() const;
  // Nothing is launched unless it is ready.
  [[nodiscard]] JournalView journal() const;

 private:
  // The journal refused this row and nothing else, so the attempt rests while the others go on.
  struct Refused {
    domain::Retry retry;
    std::string why;
    std::vector<lifecycle::Event> events;  // that came and are not taken yet
  };
  struct Live {
    domain::Attempt attempt;
    std::uint64_t changed_tick = 0;  // when its state last changed, in ticks of this engine
    bool resumed = false;            // found at the start and not yet reconciled
    std::optional<Refused> refused{};
    std::int64_t refusals = 0;                      // in a row
    std::optional<domain::EnvironmentView> seen{};  // by the last look
    std::optional<domain::SlotRefusal> slot{};      // why the last cleaning left the slot as it is
    bool quarantined = false;                       // the last cleaning could not tell which sandbox is its
  };
  // What the last demand said of one job.
  struct SeenJob {
    std::optional<domain::PolicyName> policy{};  // that it counts for
    std::optional<domain::JobRefusal> refusal{};
    std::optional<domain::AttemptId> attempt{};           // of ours, that has it
    std::map<domain::PolicyName, std::size_t> missing{};  // labels, where no policy has all of them
  };
  enum class Phase { idle, looking, listing, asking };
  struct Target {
    Phase phase = Phase::idle;
    std::uint64_t pass = 0;
    std::uint64_t listing_tick = 0;
    domain::Instant listing_began;
    std::set<domain::AttemptId> awaited;
    std::map<domain::AttemptId, Look> looks;
    bool again = false;  // something happened during the pass that wants another
    std::optional<domain::Instant> next_poll;
    std::optional<domain::Instant> held_until;  // the gateway asked for silence
    std::optional<domain::Instant> last_contact;
    std::int64_t failures = 0;
    domain::CredentialState credential = domain::CredentialState::unknown;
    std::string error;
    bool recovered = false;
    std::map<domain::JobRefusal, std::int64_t> refused_jobs;
    std::set<domain::JobId> reported_jobs;  // refused ones that the log has
    std::map<domain::JobId, SeenJob> jobs;  // of the last demand
  };
  struct PolicyState {
    domain::Policy policy;
    std::optional<domain::Instant> probed_at;
    bool probing = false;
    bool outdated = false;  // the probe under way asks about what the policy was before
    domain::LimitingFactor blocked = domain::LimitingFactor::provider_not_ready;
    std::string remedy, note, root_refusal;
    std::string image;  // what the policy's image was resolved to last
    bool package_inside = false;
    domain::Retry ahead_retry;  // of preparing ahead, which nobody waits for
    std::map<std::int64_t, domain::SlotRefusal> refused_slots;
    std::set<std::int64_t> changing_slots;  // held at some time since the probe under way was asked for
    std::int64_t refusals = 0;
    std::optional<domain::Instant> held_until;
    std::string held_reason;
    std::optional<std::int64_t> queued;  // of the last demand; unknown before the first
    std::optional<domain::Instant> demand_at;
    domain::LimitingFactor limited_by = domain::LimitingFactor::none;
  };
  // One that belonged to no attempt when it was listed.
  struct StraySandbox {
    ListedSandbox sandbox;
    bool again = false;  // also in the listing before: otherwise its attempt may just have ended
  };
  // A runtime that was removed and is still looked at.
  struct Residue {
    AttemptPointer attempt;
    domain::Instant next_look;
    std::int64_t failures = 0;  // in a row
  };
  using Input = std::variant<lifecycle::Event, Look, Inventory, DemandAnswer, ReadinessAnswer,
                             std::vector<ResidueSeen>, ReserveAnswer>;

  // engine.cpp
  bool park(const lifecycle::Event& event);
  void stage(const lifecycle::Event& event);
  static void note_slot(Live& live, const lifecycle::Event& event);
  static void note_sandbox(Live& live, const lifecycle::Event& event);
  void adopt_step(Live& live, lifecycle::Step step);
  void withdraw_launch(const Live& live);
  void create(domain::Attempt attempt);
  void issue_staged();
  void raise_timers();
  static std::optional<domain::Instant> wakeup_of(const Live& live);
  lifecycle::Context context_for(const domain::Attempt& attempt) const;
  void take(Input& input);
  void forget_settled();
  void prune_history();
  // commit.cpp
  bool commit();
  bool recheck_journal();
  [[nodiscard]] journal::Batch batch_of(const std::set<domain::AttemptId>& ids) const;
  void isolate(const std::set<domain::AttemptId>& ids);
  void keep(const domain::AttemptId& id);
  void restore(const domain::AttemptId& id);
  void refuse(const domain::AttemptId& id, const domain::Error& error);
  void readmit(Live& live);
  void put_back(std::deque<lifecycle::Event> answers);
  void begin_turn();
  void journal_failed(const domain::Error& error, const domain::AttemptId* attempt);
  // chronicle.cpp
  void report(const domain::Attempt& before, const domain::Attempt& now, bool created);
  void report_launch(const domain::Attempt& attempt);
  // pass.cpp
  void begin_due_passes();
  void begin_pass(const TargetKey& key, Target& target);
  void finish_looking(const TargetKey& key, Target& target);
  void take_look(const Look& look);
  void take_inventory(const Inventory& inventory);
  void observe_all(const TargetKey& key, Target& target, const Inventory* inventory);
  void ask_demand(const TargetKey& key, Target& target);
  void take_demand(const DemandAnswer& demand);
  void end_pass(const TargetKey& key, Target& target, const std::optional<GatewayFailure>& failure,
                std::int64_t quota_left_percent);
  void note_failure(Target& target, const GatewayFailure& failure);
  Target& target_of(const domain::Policy& policy);
  // grants.cpp
  void allocate(const TargetKey& key, Target& target, const std::vector<domain::Job>& jobs);
  void count_jobs(const TargetKey& key, Target& target, const std::vector<domain::Job>& jobs);
  void report_refused(const TargetKey& key, Target& target);
  [[nodiscard]] std::vector<domain::PolicyDemand> demands(const TargetKey& key) const;
  [[nodiscard]] bool competes(const PolicyState& state) const;
  void consume_replacements(const TargetKey& key);
  void grant(PolicyState& state, std::int64_t count, bool ahead);
  [[nodiscard]] std::set<std::int64_t> unusable_slots(const PolicyState& state) const;
  // ahead.cpp
  [[nodiscard]] bool outdated(const domain::Attempt& attempt) const;
  void end_outdated();
  void end_ahead(const domain::AttemptId& id);
  [[nodiscard]] std::vector<domain::AttemptId> ahead_of(const domain::PolicyName* policy) const;
  void claim(const domain::PolicyName& policy, std::int64_t count);
  void shrink_ahead(const domain::PolicyDemand& demand, std::int64_t claimed);
  void make_room(std::int64_t count, const TargetKey* target);
  void pause_ahead(const domain::Attempt& attempt);
  void note_ahead(const domain::Attempt& before, const domain::Attempt& now);
  [[nodiscard]] std::int64_t wanted_ahead(const PolicyState& state, std::int64_t now_ahead) const;
  // readiness.cpp
  [[nodiscard]] std::vector<domain::LimitingFactor> blocks_of(const Target& target,
                                                              const PolicyState& state) const;
  [[nodiscard]] domain::LimitingFactor blocked_by(const Target& target, const PolicyState& state) const;
  void probe_due();
  void take_readiness(const ReadinessAnswer& answer);
  void hold_policy(const domain::Attempt& attempt);
  void withdraw_launches(const domain::Attempt& failed);
  void forgive_policy(const domain::PolicyName& name);
  // residue.cpp
  domain::Result<void> load_residues();
  void watch_residue(const domain::Attempt& attempt);
  void sweep_due();
  void take_residue(const std::vector<ResidueSeen>& seen);
  void extend_watch(Residue& residue);
  [[nodiscard]] std::optional<domain::Instant> next_sweep() const;
  // reserve.cpp
  void disk_is_full(const std::string& why);
  void note_full(const lifecycle::Event& event);
  void take_reserve(const ReserveAnswer& answer);
  void restore_reserve_due();
  // explain.cpp
  void explain_into(Explanation& out, const PolicyState& state) const;
  // reload.cpp
  [[nodiscard]] std::vector<const domain::Attempt*> rows() const;
  void forget_unused_targets();

  EngineOptions options_;
  World& world_;
  journal::Journal& journal_;
  observe::Log& log_;

  std::map<domain::AttemptId, Live> live_;
  std::map<domain::AttemptId, Residue> residues_;
  std::map<TargetKey, Target> targets_;
  std::map<domain::PolicyName, PolicyState> policies_;
  std::map<domain::InstanceName, std::vector<StraySandbox>> stray_sandboxes_;
  std::deque<Input> inputs_;

  // One turn: what changed, in memory before it is durable.
  std::map<domain::AttemptId, Live> before_;  // rows as they were when this turn began to change them
  std::set<domain::AttemptId> created_;
  std::deque<lifecycle::Event> answered_;  // put back if the turn cannot be made durable
  std::vector<journal::EventRecord> records_;
  std::vector<Effect> staged_;
  std::vector<domain::AttemptId> dropped_secrets_;
  std::set<domain::AttemptId> refused_launches_;  // that met a refusal which trying again cannot mend

  std::uint64_t tick_ = 0;
  std::uint64_t next_pass_ = 1;
  bool draining_ = false;
  bool prune_wanted_ = false;
  std::optional<domain::Instant> retry_commit_at_;
  std::optional<domain::Instant> next_history_prune_;
  std::optional<domain::Error> journal_error_;
  std::optional<std::string> reserve_missing_;  // and why
  std::optional<domain::Instant> restore_reserve_at_;
  bool restoring_reserve_ = false;
};

}  // namespace agent::reconcile
