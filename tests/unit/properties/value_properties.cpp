#include <limits>

#include "domain/backoff.hpp"
#include "domain/labels.hpp"
#include "domain/target.hpp"
#include "unit/properties/check.hpp"

namespace properties {
namespace {

using namespace agent::domain;

rc::Gen<std::int64_t> counts() {
  return rc::gen::oneOf(
      rc::gen::inRange<std::int64_t>(-2, 70), rc::gen::arbitrary<std::int64_t>(),
      rc::gen::elementOf(std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::max(),
                                                   std::numeric_limits<std::int64_t>::min()}));
}

Millis expected_wait(Millis initial, std::int64_t tries, Millis cap) {
  if (initial.count() <= 0 || cap.count() <= 0) return Millis{0};
  Wide wait = initial.count();
  for (std::int64_t done = 1; done < tries && wait < cap.count(); ++done)
    wait *= 2;
  return Millis{static_cast<std::int64_t>(std::min<Wide>(wait, cap.count()))};
}

RC_GTEST_PROP(BackOff, doubles_up_to_its_cap, ()) {
  const Millis initial{*counts()}, cap{*counts()};
  const std::int64_t tries = *counts();
  const Millis wait = doubling(initial, tries, cap);
  RC_ASSERT(wait == expected_wait(initial, tries, cap));
  RC_ASSERT(wait >= Millis{0});
  if (tries < std::numeric_limits<std::int64_t>::max()) RC_ASSERT(doubling(initial, tries + 1, cap) >= wait);
}

RC_GTEST_PROP(BackOff, a_launch_waits_as_long_as_it_was_asked_to_and_no_wait_is_longer_than_the_longest, ()) {
  const std::int64_t tries = *counts();
  const Millis asked{*counts()};
  const Millis wait = launch_wait(tries, asked);
  RC_ASSERT(wait >= std::min(asked, kMaximumWait));
  RC_ASSERT(wait >= launch_wait(tries, Millis{0}));
  for (const Millis each : {wait, cleanup_wait(tries), hold_wait(tries)}) {
    RC_ASSERT(each > Millis{0});
    RC_ASSERT(each <= kMaximumWait);
  }
}

RC_GTEST_PROP(BackOff, the_next_retry_is_one_more_and_due_after_its_wait, ()) {
  const Retry before{.tries = *counts(), .due = {}};
  const Instant now{.wall_ms = *rc::gen::inRange<std::int64_t>(0, 1'000'000),
                    .boot_ms = *rc::gen::inRange<std::int64_t>(0, 1'000'000),
                    .boot_id = BootId("boot")};
  const Millis wait{*rc::gen::inRange<std::int64_t>(0, kMaximumWait.count())};
  const Retry next = next_retry(before, wait, now);
  RC_ASSERT(next.tries >= 1);
  const auto expected = std::min(properties::Wide{std::max<std::int64_t>(before.tries, 0)} + 1,
                                 properties::Wide{std::numeric_limits<std::int64_t>::max()});
  RC_ASSERT(next.tries == static_cast<std::int64_t>(expected));
  RC_ASSERT(elapsed(now, next.due) == wait);
  RC_ASSERT(reached(next.due, after(now, wait)));
  RC_ASSERT(wait == Millis{0} || !reached(next.due, now));
}

rc::Gen<std::string> uuids() {
  return rc::gen::map(
      rc::gen::container<std::string>(36, rc::gen::elementOf(std::string("0123456789abcdef"))),
      [](std::string text) {
        for (const std::size_t dash : {8U, 13U, 18U, 23U})
          text[dash] = '-';
        text[14] = '4';
        text[19] = "89ab"[static_cast<unsigned char>(text[19]) % 4];
        return text;
      });
}

RC_GTEST_PROP(Ids, an_attempt_id_comes_back_from_its_text_and_from_its_runner_name, ()) {
  const std::string text = *uuids();
  const auto id = parse_attempt_id(text);
  RC_ASSERT(id.ok());
  RC_ASSERT(id->str() == text);
  const std::string name = runner_name(*id);
  RC_ASSERT(name.size() <= 64U);
  const auto back = attempt_of_runner_name(name);
  RC_ASSERT(back.ok() && *back == *id);
  RC_ASSERT(!parse_attempt_id(name).ok());
  RC_ASSERT(!attempt_of_runner_name(text).ok());
  std::string digits = text;
  std::erase(digits, '-');
  RC_ASSERT(runtime_directory_name(*id) == digits.substr(0, 12));
}

// One character that is another: still an id only if it is one in form.
RC_GTEST_PROP(Ids, a_wrong_character_makes_no_id, (char wrong)) {
  std::string text = *uuids();
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  text[at] = wrong;
  const bool dash = at == 8 || at == 13 || at == 18 || at == 23;
  const std::string allowed = dash ? "-" : at == 14 ? "4" : at == 19 ? "89ab" : "0123456789abcdef";
  RC_ASSERT(parse_attempt_id(text).ok() == (allowed.find(wrong) != std::string::npos));
  RC_ASSERT(attempt_of_runner_name("runner-manager-" + text).ok() == parse_attempt_id(text).ok());
}

RC_GTEST_PROP(Targets, compare_folded_and_print_as_they_were_written, ()) {
  const auto part =
      rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::elementOf(std::string("abYZ019-_."))));
  std::string text = *part;
  const bool repository = *rc::gen::arbitrary<bool>();
  if (repository) text += "/" + *part;
  const auto target = Target::parse(text);
  RC_PRE(target.ok());
  RC_ASSERT(target->str() == text);
  RC_ASSERT(target->key() == fold(text));
  RC_ASSERT(target->kind() == (repository ? TargetKind::repository : TargetKind::organization));
  RC_ASSERT(*Target::parse(fold(text)) == *target);
}

}  // namespace
}  // namespace properties
