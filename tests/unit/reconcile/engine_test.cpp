// The engine with the real journal and a world that is answered by hand.
#include <gtest/gtest.h>

#include <algorithm>

#include "reconcile/engine.hpp"
#include "support/temporary.hpp"

namespace {

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
  void release_reserve() override { ++reserves; }

  std::int64_t clock_ms = 1'000'000;
  int minted = 0;
  int reserves = 0;
  std::vector<Effect> effects;
  std::vector<std::pair<domain::AttemptId, std::uint64_t>> looks;
  std::vector<std::pair<TargetKey, std::uint64_t>> listings, demands;
  std::vector<domain::PolicyName> probes;
  std::vector<domain::AttemptId> dropped;
};

// The real journal, which can be told to fail.
class FailingJournal final : public journal::Journal {
 public:
  explicit FailingJournal(std::unique_ptr<journal::Journal> real) : real_(std::move(real)) {}
  std::optional<domain::ErrorCode> fail_with;

  [[nodiscard]] domain::InstallationId installation() const override { return real_->installation(); }
  domain::Result<void> commit(const journal::Batch& batch) override {
    if (fail_with) return domain::Error{.code = *fail_with, .message = "made failure", .retry_after = {}};
    return real_->commit(batch);
  }
  domain::Result<std::vector<domain::Attempt>> load_active() override { return real_->load_active(); }
  domain::Result<std::optional<domain::Attempt>> find(const domain::AttemptId& id) override {
    return real_->find(id);
  }
  domain::Result<std::vector<domain::Attempt>> recent(std::int64_t limit) override {
    return real_->recent(limit);
  }
  domain::Result<std::vector<journal::EventRecord>> events_of(const domain::AttemptId& id) override {
    return real_->events_of(id);
  }
  domain::Result<std::optional<std::string>> kv_get(const domain::InstanceName& name,
                                                    std::string_view key) override {
    return real_->kv_get(name, key);
  }
  domain::Result<void> kv_put(const domain::InstanceName& name, std::string_view key,
                              std::string_view value) override {
    return real_->kv_put(name, key, value);
  }
  domain::Result<void> kv_remove(const domain::InstanceName& name, std::string_view key) override {
    return real_->kv_remove(name, key);
  }
  domain::Result<std::vector<std::string>> kv_list(const domain::InstanceName& name,
                                                   std::string_view prefix) override {
    return real_->kv_list(name, prefix);
  }
  domain::Result<std::int64_t> begin_loading(std::string_view digest) override {
    return real_->begin_loading(digest);
  }
  domain::Result<void> end_loading(std::string_view digest) override { return real_->end_loading(digest); }
  domain::Result<std::int64_t> prune(std::int64_t before, std::int64_t keep, std::int64_t limit) override {
    return real_->prune(before, keep, limit);
  }

 private:
  std::unique_ptr<journal::Journal> real_;
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
    ASSERT_TRUE(engine_->start({policy_}).ok());
    engine_->turn();
  }

  void ready() {
    engine_->on_readiness(
        {.policy = policy_.name, .blocked = domain::LimitingFactor::none, .remedy = {}, .note = {}});
    engine_->turn();
  }
  // Answers the open demand question with `queued` jobs.
  void answer_demand(int queued) {
    ASSERT_FALSE(world_.demands.empty());
    reconcile::DemandAnswer answer;
    answer.target = world_.demands.back().first;
    answer.pass = world_.demands.back().second;
    for (int index = 0; index < queued; ++index) {
      domain::Job job;
      job.id = domain::JobId(index + 1);
      job.repository = "acme/widgets";
      job.queued = true;
      job.labels = {"self-hosted"};
      answer.jobs.push_back(job);
    }
    engine_->on_demand(answer);
    engine_->turn();
  }
  std::int64_t count(EffectKind kind) const {
    return std::count_if(world_.effects.begin(), world_.effects.end(),
                         [kind](const Effect& effect) { return effect.kind == kind; });
  }

  testkit::TemporaryDirectory directory_;
  std::int64_t capacity_ = 3;
  domain::Policy policy_;
  AskedWorld world_;
  SilentLog log_;
  std::unique_ptr<FailingJournal> journal_;
  std::unique_ptr<reconcile::Engine> engine_;
};

TEST_F(EngineTest, nothing_starts_before_the_provider_is_ready) {
  answer_demand(2);
  EXPECT_TRUE(world_.effects.empty());
  EXPECT_EQ(engine_->policies().front().limited_by, domain::LimitingFactor::provider_not_ready);
  ready();
  answer_demand(2);
  EXPECT_EQ(count(EffectKind::acquire_package), 2);
}

TEST_F(EngineTest, a_reservation_is_in_the_journal_before_its_effect_and_holds_capacity) {
  ready();
  answer_demand(5);
  ASSERT_EQ(world_.effects.size(), 3U) << "the host's capacity";
  for (const Effect& effect : world_.effects) {
    auto row = journal_->find(effect.attempt->id);
    ASSERT_TRUE(row.ok() && row->has_value());
    EXPECT_EQ((*row)->pending->seq, effect.seq);
  }
  EXPECT_EQ(engine_->active(), 3);
}

TEST_F(EngineTest, a_turn_that_cannot_be_made_durable_issues_nothing_and_is_made_good_later) {
  ready();
  journal_->fail_with = domain::ErrorCode::full;
  answer_demand(1);
  EXPECT_TRUE(world_.effects.empty());
  EXPECT_EQ(world_.reserves, 1) << "the reserve is given up on a full disk";
  EXPECT_TRUE(engine_->attempts().empty());
  EXPECT_FALSE(engine_->journal_error().empty());
  journal_->fail_with.reset();
  world_.clock_ms += 60'000;
  engine_->turn();
  answer_demand(1);
  EXPECT_TRUE(engine_->journal_error().empty());
}

TEST_F(EngineTest, an_answer_is_not_lost_when_its_commit_fails) {
  ready();
  answer_demand(1);
  const Effect acquire = world_.effects.back();
  journal_->fail_with = domain::ErrorCode::internal;
  engine_->on_event({.attempt = acquire.attempt->id,
                     .seq = acquire.seq,
                     .body = lifecycle::event::Acquired{.digest = domain::PackageDigest(std::string(64, 'd')),
                                                        .downloaded = false}});
  engine_->turn();
  EXPECT_EQ(count(EffectKind::materialize), 0);
  journal_->fail_with.reset();
  world_.clock_ms += 1'000;
  engine_->turn();
  EXPECT_EQ(count(EffectKind::materialize), 1);
}

TEST_F(EngineTest, a_job_that_stays_queued_starts_no_second_runner) {
  ready();
  answer_demand(1);
  for (int pass = 0; pass < 5; ++pass) {
    world_.clock_ms += 10'000;
    engine_->turn();
    answer_demand(1);
  }
  EXPECT_EQ(count(EffectKind::acquire_package), 1);
}

TEST_F(EngineTest, launches_stay_closed_after_a_restart_until_the_live_attempts_were_seen) {
  ready();
  answer_demand(1);
  world_.effects.clear();
  world_.looks.clear();
  world_.listings.clear();
  open();
  ready();
  ASSERT_EQ(world_.looks.size(), 1U);
  reconcile::Look look;
  look.attempt = world_.looks.back().first;
  look.pass = world_.looks.back().second;
  look.environment = domain::EnvironmentView::missing;
  engine_->on_look(look);
  engine_->turn();
  ASSERT_EQ(world_.listings.size(), 1U) << "the look comes before the listing";
  EXPECT_EQ(engine_->policies().front().limited_by, domain::LimitingFactor::recovering);
  reconcile::Inventory inventory;
  inventory.target = world_.listings.back().first;
  inventory.pass = world_.listings.back().second;
  engine_->on_inventory(inventory);
  engine_->turn();
  answer_demand(2);
  EXPECT_EQ(count(EffectKind::acquire_package), 1) << "one attempt waits, one job more is served";
}

TEST_F(EngineTest, an_unreachable_gateway_is_asked_less_and_less_often) {
  ready();
  std::int64_t waited = 0;
  for (int failure = 0; failure < 3; ++failure) {
    reconcile::DemandAnswer answer;
    answer.target = world_.demands.back().first;
    answer.pass = world_.demands.back().second;
    answer.failure = reconcile::GatewayFailure{
        .code = domain::ErrorCode::unreachable, .retry_after = {}, .message = "made"};
    engine_->on_demand(answer);
    engine_->turn();
    EXPECT_EQ(engine_->policies().front().limited_by, domain::LimitingFactor::gateway_unreachable);
    const std::size_t asked = world_.demands.size();
    std::int64_t wait = 0;
    while (world_.demands.size() == asked && wait < 3'600'000) {
      wait += 1'000;
      world_.clock_ms += 1'000;
      engine_->turn();
    }
    EXPECT_GT(wait, waited);
    waited = wait;
  }
}

TEST_F(EngineTest, draining_admits_nothing_more) {
  ready();
  engine_->drain();
  world_.clock_ms += 60'000;
  engine_->turn();
  EXPECT_TRUE(world_.effects.empty());
  EXPECT_TRUE(engine_->quiescent());
}

}  // namespace
