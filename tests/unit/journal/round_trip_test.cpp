#include "unit/journal/fixture.hpp"

namespace agent::journal {

using domain::Attempt;

using RoundTrip = JournalTest;

TEST_F(RoundTrip, a_plain_attempt_comes_back_equal_after_reopening) {
  const Attempt written = sample::attempt(1);
  {
    auto journal = open();
    ASSERT_OK(journal->commit(batch({written})));
  }
  auto found = open()->find(written.id);
  ASSERT_OK(found);
  ASSERT_TRUE(found->has_value());
  EXPECT_EQ(**found, written);
}

TEST_F(RoundTrip, an_attempt_that_nobody_wrote_is_not_found) {
  auto found = open()->find(domain::AttemptId{"nobody"});
  ASSERT_OK(found);
  EXPECT_FALSE(found->has_value());
}

// Whatever an attempt holds, and whichever of its facts are absent, it is the same after a restart.
TEST_F(RoundTrip, random_attempts_come_back_equal) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    std::mt19937_64 random{seed};
    std::vector<Attempt> written;
    for (int i = 0; i < 10; ++i) {
      written.push_back(sample::random_attempt(static_cast<int>(seed) * 100 + i, random));
    }
    ASSERT_OK(open()->commit(batch(written)));
    auto journal = open();
    for (const Attempt& attempt : written) {
      auto found = journal->find(attempt.id);
      ASSERT_OK(found);
      ASSERT_TRUE(found->has_value());
      ASSERT_EQ(**found, attempt) << "seed " << seed;
      ASSERT_EQ((*found)->policy.target.str(), attempt.policy.target.str()) << "seed " << seed;
    }
  }
}

TEST_F(RoundTrip, random_changes_come_back_equal) {
  std::mt19937_64 random{7};
  auto journal = open();
  for (int number = 1; number <= 20; ++number) {
    Attempt attempt = sample::random_attempt(number, random);
    ASSERT_OK(journal->commit(batch({attempt})));
    for (int change = 0; change < 5; ++change) {
      attempt = sample::changed(attempt, random);
      ASSERT_OK(journal->commit(batch({attempt})));
    }
    journal.reset();
    journal = open();
    auto found = journal->find(attempt.id);
    ASSERT_OK(found);
    ASSERT_TRUE(found->has_value());
    EXPECT_EQ(**found, attempt);
  }
}

TEST_F(RoundTrip, each_optional_fact_alone_comes_back) {
  using Change = void (*)(Attempt&);
  const Change changes[] = {
      [](Attempt& a) { a.slot = 3; },
      [](Attempt& a) { a.package = domain::PackageDigest{"digest"}; },
      [](Attempt& a) { a.environment = domain::EnvironmentId{"env"}; },
      [](Attempt& a) { a.runner = domain::RunnerId{42}; },
      [](Attempt& a) {
        a.process = domain::ProcessIdentity{7, ~0ULL, domain::BootId{"b"}};
      },
      [](Attempt& a) { a.jit_requested_at = sample::instant(5); },
      [](Attempt& a) {
        a.jit_requests = 2;
        a.unanswered_at = sample::instant(5);
      },
      [](Attempt& a) { a.exit_code = -1; },
      [](Attempt& a) {
        a.pending = domain::Pending{domain::EffectKind::release, 9, sample::instant(6)};
      },
      [](Attempt& a) { a.termination = domain::Termination{}; },
      [](Attempt& a) {
        a.outcome = domain::Outcome{domain::OutcomeKind::failed, domain::FailureReason::other, true};
      },
      [](Attempt& a) {
        a.outcome = domain::Outcome{domain::OutcomeKind::orphaned, {}, false};
      },
      [](Attempt& a) { a.times.demand_seen = sample::instant(1); },
      [](Attempt& a) { a.times.package_acquired = sample::instant(2); },
      [](Attempt& a) { a.times.materialized = sample::instant(3); },
      [](Attempt& a) { a.times.prepared = sample::instant(4); },
      [](Attempt& a) { a.times.registered = sample::instant(5); },
      [](Attempt& a) { a.times.held = sample::instant(6); },
      [](Attempt& a) { a.times.started = sample::instant(7); },
  };
  int number = 0;
  for (const Change change : changes) {
    Attempt attempt = sample::attempt(++number);
    change(attempt);
    ASSERT_OK(open()->commit(batch({attempt})));
    auto found = open()->find(attempt.id);
    ASSERT_OK(found);
    ASSERT_TRUE(found->has_value());
    EXPECT_EQ(**found, attempt) << "change " << number;
  }
}

TEST_F(RoundTrip, events_come_back_in_order) {
  auto journal = open();
  const Attempt attempt = sample::attempt(1);
  const std::vector<EventRecord> first{{attempt.id, sample::instant(1), "allocated", ""},
                                       {attempt.id, sample::instant(2), "materialize", "retry"}};
  ASSERT_OK(journal->commit({{attempt}, first}));
  ASSERT_OK(journal->commit({{}, {{attempt.id, sample::instant(3), "failed", "jit_expired"}}}));
  auto events = journal->events_of(attempt.id);
  ASSERT_OK(events);
  ASSERT_EQ(events->size(), 3U);
  EXPECT_EQ((*events)[0].word, "allocated");
  EXPECT_EQ((*events)[1].detail, "retry");
  EXPECT_EQ((*events)[2].word, "failed");
  EXPECT_EQ((*events)[2].at, sample::instant(3));
  EXPECT_EQ((*events)[2].attempt, attempt.id);
}

TEST_F(RoundTrip, every_word_of_the_vocabularies_is_accepted_and_no_other) {
  auto journal = open();
  const Attempt attempt = sample::attempt(1);
  ASSERT_OK(journal->commit(batch({attempt})));
  for (int i = 0; i <= static_cast<int>(domain::EffectKind::scrub); ++i) {
    const std::string word{to_string(static_cast<domain::EffectKind>(i))};
    ASSERT_OK(journal->commit({{}, {{attempt.id, sample::instant(1), word, ""}}}));
  }
  const auto refused = journal->commit({{}, {{attempt.id, sample::instant(1), "made up", ""}}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, domain::ErrorCode::internal);
  EXPECT_FALSE(journal->commit({{}, {{attempt.id, sample::instant(1), "failed", "Some free text."}}}).ok());
  EXPECT_EQ(journal->events_of(attempt.id)->size(), static_cast<std::size_t>(domain::EffectKind::scrub) + 1);
}

TEST_F(RoundTrip, an_event_of_an_unknown_attempt_is_refused_with_its_whole_batch) {
  auto journal = open();
  const Attempt attempt = sample::attempt(1);
  const auto refused =
      journal->commit({{attempt}, {{domain::AttemptId{"stranger"}, sample::instant(1), "failed", ""}}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, domain::ErrorCode::internal);
  EXPECT_FALSE(journal->find(attempt.id)->has_value());
}

TEST_F(RoundTrip, an_empty_batch_writes_nothing) { ASSERT_OK(open()->commit({})); }

TEST_F(RoundTrip, recent_is_newest_first_and_bounded) {
  auto journal = open();
  for (int number = 1; number <= 5; ++number)
    ASSERT_OK(journal->commit(batch({sample::attempt(number)})));
  auto recent = journal->recent(3);
  ASSERT_OK(recent);
  ASSERT_EQ(recent->size(), 3U);
  EXPECT_EQ((*recent)[0].id, sample::attempt(5).id);
  EXPECT_EQ((*recent)[2].id, sample::attempt(3).id);
  EXPECT_TRUE(journal->recent(0)->empty());
  EXPECT_TRUE(journal->recent(-1)->empty());
}

}  // namespace agent::journal
