// The engine with the real journal and a world that is answered by hand.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reconcile/engine.hpp"
#include "support/forwarding_journal.hpp"
#include "support/temporary.hpp"

namespace engine_test {

using namespace agent;
using domain::EffectKind;
using domain::State;
using reconcile::Effect;
using reconcile::TargetKey;

class SilentLog final : public observe::Log {
 public:
  void write(observe::Level, observe::Event, observe::Fields) override {}
};

// Remembers what was asked for; answers nothing.
class AskedWorld final : public reconcile::World {
 public:
  domain::Instant now() override {
    return {.wall_ms = clock_ms, .boot_ms = clock_ms, .boot_id = domain::BootId("boot")};
  }
  domain::AttemptId mint_attempt() override {
    const std::string number = std::to_string(1000 + minted++);
    return domain::AttemptId("0000" + number + "-0000-4000-8000-000000000000");
  }
  domain::Generation mint_generation() override { return domain::Generation(std::string(32, 'f')); }
  double jitter() override { return 0.5; }
  void perform(const Effect& effect) override { effects.push_back(effect); }
  void look(const reconcile::AttemptPointer& attempt, std::uint64_t pass) override {
    looks.emplace_back(attempt->id, pass);
  }
  void list_inventory(const TargetKey& target, std::uint64_t pass) override {
    listings.emplace_back(target, pass);
  }
  void ask_demand(const TargetKey& target, std::uint64_t pass) override {
    demands.emplace_back(target, pass);
  }
  void probe(const domain::Policy& policy) override { probes.push_back(policy.name); }
  void drop_secret(const domain::AttemptId& attempt) override { dropped.push_back(attempt); }
  void prune_packages(const std::set<domain::PackageDigest>&) override {}
  void sweep(const std::vector<reconcile::AttemptPointer>& attempts) override {
    for (const auto& attempt : attempts)
      swept.push_back(attempt->id);
  }
  void release_reserve() override { ++reserves; }
  void restore_reserve() override { ++restorations; }

  std::int64_t clock_ms = 1'000'000;
  int minted = 0;
  int reserves = 0;      // given up
  int restorations = 0;  // asked for
  std::vector<Effect> effects;
  std::vector<std::pair<domain::AttemptId, std::uint64_t>> looks;
  std::vector<std::pair<TargetKey, std::uint64_t>> listings, demands;
  std::vector<domain::PolicyName> probes;
  std::vector<domain::AttemptId> dropped, swept;
};

// The real journal, which can be told to fail.
class FailingJournal final : public testkit::ForwardingJournal {
 public:
  using ForwardingJournal::ForwardingJournal;
  std::optional<domain::ErrorCode> fail_with;
  std::optional<domain::AttemptId> refused_row;  // batches with it are refused as a defect

  domain::Result<void> commit(const journal::Batch& batch) override {
    if (fail_with) return failure(*fail_with);
    const bool refuses = std::any_of(batch.attempts.begin(), batch.attempts.end(), [this](const auto& row) {
      return refused_row && row.id == *refused_row;
    });
    if (refuses) return failure(domain::ErrorCode::internal);
    return real().commit(batch);
  }
  domain::Result<void> prove_writable() override {
    if (fail_with) return failure(*fail_with);
    return real().prove_writable();
  }

 private:
  static domain::Error failure(domain::ErrorCode code) {
    return {.code = code, .message = "made failure", .retry_after = {}};
  }
};

class EngineTest : public ::testing::Test {
 protected:
  EngineTest() {
    policy_.name = domain::PolicyName("policy");
    policy_.target = *domain::Target::parse("acme/widgets");
    policy_.gateway = domain::InstanceName("github");
    policy_.provider = domain::InstanceName("native");
    policy_.package_source = domain::InstanceName("packages");
    policy_.root = "/runtimes";
    policy_.labels = {"self-hosted"};
    policy_.max = 10;
    ::chmod(directory_.path().c_str(), 0700);
    open();
  }

  void open() {
    engine_.reset();
    journal_.reset();
    journal::OpenOptions options;
    options.path = directory_ / "journal.db";
    options.installation = "00000000-0000-4000-8000-000000000001";
    options.machine = "machine";
    auto opened = journal::Journal::open(options);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    journal_ = std::make_unique<FailingJournal>(std::move(*opened));
    engine_ =
        std::make_unique<reconcile::Engine>(reconcile::EngineOptions{.host_capacity = capacity_,
                                                                     .poll_quiet = domain::Millis{10'000},
                                                                     .poll_active = domain::Millis{10'000}},
                                            world_, *journal_, log_);
    std::vector<domain::Policy> policies = more_policies_;
    policies.push_back(policy_);
    ASSERT_TRUE(engine_->start(policies).ok());
    engine_->turn();
  }

  [[nodiscard]] bool journal_ready() const {
    const reconcile::JournalView journal = engine_->journal();
    EXPECT_EQ(journal.state == domain::JournalState::ready, journal.message.empty());
    return journal.message.empty();
  }
  void ready() { ready(policy_.name); }
  void ready(const domain::PolicyName& policy) {
    engine_->on_readiness(
        {.policy = policy, .blocked = domain::LimitingFactor::none, .remedy = {}, .note = {}});
    engine_->turn();
  }
  // Answers the open demand question with `queued` jobs.
  void answer_demand(int queued) {
    std::vector<domain::Job> jobs;
    for (int index = 0; index < queued; ++index)
      jobs.push_back(job(index + 1));
    answer_demand(policy_.target, jobs);
  }
  static domain::Job job(std::int64_t id, std::vector<std::string> labels = {"self-hosted"},
                         const std::string& repository = "acme/widgets") {
    domain::Job made;
    made.id = domain::JobId(id);
    made.repository = repository;
    made.queued = true;
    made.labels = std::move(labels);
    return made;
  }
  // The last question about that target.
  void answer_demand(const domain::Target& target, std::vector<domain::Job> jobs) {
    const auto asked = std::find_if(world_.demands.rbegin(), world_.demands.rend(),
                                    [&target](const auto& each) { return each.first.target == target; });
    ASSERT_NE(asked, world_.demands.rend());
    reconcile::DemandAnswer answer;
    answer.target = asked->first;
    answer.pass = asked->second;
    answer.jobs = std::move(jobs);
    engine_->on_demand(answer);
    engine_->turn();
  }
  // Answers all looks that are open, and forgets them.
  void answer_looks(domain::EnvironmentView view, domain::Evidence evidence = domain::Evidence::unknown,
                    std::optional<std::int64_t> exit_code = {}) {
    const auto looks = std::exchange(world_.looks, {});
    for (const auto& [attempt, pass] : looks) {
      reconcile::Look look;
      look.attempt = attempt;
      look.pass = pass;
      look.environment = view;
      look.clean = exit_code == 0;
      look.exit_code = exit_code;
      look.evidence = evidence;
      engine_->on_look(look);
    }
    engine_->turn();
  }
  // Answers the last listing that was asked for.
  void answer_listing(std::vector<reconcile::ListedRunner> runners) {
    ASSERT_FALSE(world_.listings.empty());
    reconcile::Inventory inventory;
    inventory.target = world_.listings.back().first;
    inventory.pass = world_.listings.back().second;
    inventory.runners = std::move(runners);
    engine_->on_inventory(inventory);
    engine_->turn();
  }
  // The answer that a working world gives to an effect.
  static lifecycle::EventBody success(const Effect& effect) {
    namespace event = lifecycle::event;
    switch (effect.kind) {
      case EffectKind::acquire_package: return event::Acquired{domain::PackageDigest(std::string(64, 'd'))};
      case EffectKind::materialize: return event::Materialized{};
      case EffectKind::prepare: return event::Prepared{domain::EnvironmentId("native:1")};
      case EffectKind::register_runner: return event::Registered{domain::RunnerId(7)};
      case EffectKind::spawn_held:
        return event::Held{{.pid = 42, .start_token = 1, .boot_id = domain::BootId("boot")}};
      case EffectKind::release: return event::Started{};
      case EffectKind::stop: return event::Stopped{};
      case EffectKind::destroy: return event::Destroyed{};
      case EffectKind::deregister: return event::Deregistered{};
      case EffectKind::scrub: return event::Scrubbed{};
    }
    return event::Timer{};
  }
  void succeed(const Effect& effect) {
    engine_->on_event({.attempt = effect.attempt->id, .seq = effect.seq, .body = success(effect)});
    engine_->turn();
  }
  void fail(const Effect& effect, domain::ErrorCode code) {
    engine_->on_event({.attempt = effect.attempt->id,
                       .seq = effect.seq,
                       .body = lifecycle::event::Failed{
                           .code = code, .retry_after = domain::Millis{0}, .process_existed = false}});
    engine_->turn();
  }
  // Lets everything that is asked for succeed, up to `until`, which stays open.
  void succeed_until(EffectKind until) {
    while (!world_.effects.empty() && world_.effects.back().kind != until) {
      const Effect effect = world_.effects.back();
      const std::size_t before = world_.effects.size();
      succeed(effect);
      if (world_.effects.size() == before) return;
    }
  }
  domain::Attempt row_of(const domain::AttemptId& id) { return **journal_->find(id); }
  static lifecycle::Event acquired(const Effect& effect) {
    return {.attempt = effect.attempt->id,
            .seq = effect.seq,
            .body = lifecycle::event::Acquired{.digest = domain::PackageDigest(std::string(64, 'd')),
                                               .downloaded = false}};
  }
  std::int64_t count(EffectKind kind) const {
    return std::count_if(world_.effects.begin(), world_.effects.end(),
                         [kind](const Effect& effect) { return effect.kind == kind; });
  }

  testkit::TemporaryDirectory directory_;
  std::int64_t capacity_ = 3;
  domain::Policy policy_;
  std::vector<domain::Policy> more_policies_;
  AskedWorld world_;
  SilentLog log_;
  std::unique_ptr<FailingJournal> journal_;
  std::unique_ptr<reconcile::Engine> engine_;
};

// A concluded attempt with a wish for a replacement, as a start finds it.
class ConcludedAttempt : public EngineTest {
 protected:
  void conclude_one() {
    ready();
    answer_demand(1);
    engine_.reset();
    row_ = **journal_->find(world_.effects.back().attempt->id);
    row_.state = State::failed;
    row_.outcome = domain::Outcome{.kind = domain::OutcomeKind::failed,
                                   .reason = domain::FailureReason::process_exited_unexpectedly};
    row_.replacement_wanted = true;
    row_.pending.reset();
    row_.jit_requested_at.reset();
    ASSERT_TRUE(journal_->commit({.attempts = {row_}, .events = {}}).ok());
    world_.effects.clear();
    world_.demands.clear();
  }
  domain::Attempt row_;
};

}  // namespace engine_test
