#include <limits>
#include <memory>
#include <ostream>
#include <tuple>

#include "journal/journal.hpp"
#include "sim/vfs/memory_vfs.hpp"
#include "unit/journal/sample.hpp"
#include "unit/properties/check.hpp"
#include "unit/properties/journal_model.hpp"

namespace properties {
namespace {

using namespace agent;
using domain::Attempt;
using domain::AttemptId;
using journal::EventRecord;
using rc::gen::inRange;
namespace sample = journal::sample;

constexpr int kAttempts = 6;  // few, so that steps meet

enum class Kind { commit, commit_and_lose_power, prune, put, remove, restart, lose_power };

// A row of a batch: the next of this attempt, or its first. `spoil`: which fact of a known one is rewritten,
// if any.
struct Change {
  int number = 1;
  std::uint32_t seed = 0;
  int spoil = 0;
};

struct Step {
  Kind kind = Kind::commit;
  std::vector<Change> changes;
  std::vector<EventRecord> events;
  std::int64_t before = 0, keep = 0, limit = 0;  // of a pruning
  std::string instance, key, value;
  int cut_at = 1;  // the sync at which the power goes
};

void showValue(const Step& step, std::ostream& out) {
  static const char* const names[] = {
      "commit", "commit and lose power", "prune", "put", "remove", "restart", "lose power"};
  out << "\n  " << names[static_cast<int>(step.kind)];
  switch (step.kind) {
    case Kind::commit_and_lose_power: out << " at sync " << step.cut_at; [[fallthrough]];
    case Kind::commit:
      for (const Change& change : step.changes)
        out << ", attempt " << change.number << " (seed " << change.seed << ", spoil " << change.spoil << ")";
      for (const EventRecord& event : step.events)
        out << ", event " << event.word << " '" << event.detail << "' of " << event.attempt.str();
      break;
    case Kind::prune:
      out << " before " << step.before << " keep " << step.keep << " limit " << step.limit;
      break;
    case Kind::put: out << " " << step.instance << " " << step.key << " = " << step.value; break;
    case Kind::remove: out << " " << step.instance << " " << step.key; break;
    case Kind::restart:
    case Kind::lose_power: break;
  }
}

AttemptId id_of(int number) { return sample::attempt(number).id; }

rc::Gen<Step> steps() {
  return rc::gen::exec([] {
    Step step;
    step.kind = *rc::gen::weightedElement<Kind>({{10, Kind::commit},
                                                 {2, Kind::commit_and_lose_power},
                                                 {3, Kind::prune},
                                                 {2, Kind::put},
                                                 {1, Kind::remove},
                                                 {1, Kind::restart},
                                                 {1, Kind::lose_power}});
    switch (step.kind) {
      case Kind::commit_and_lose_power: step.cut_at = *inRange(1, 3); [[fallthrough]];
      case Kind::commit:
        for (int left = *inRange(0, 4); left > 0; --left) {
          step.changes.push_back({.number = *inRange(1, kAttempts + 1),
                                  .seed = *rc::gen::arbitrary<std::uint32_t>(),
                                  .spoil = std::max(*inRange(-20, 7), 0)});
        }
        for (int left = *inRange(0, 3); left > 0; --left) {
          step.events.push_back({.attempt = id_of(*inRange(1, kAttempts + 1)),
                                 .at = sample::instant(*inRange(0, 9)),
                                 .word = *rc::gen::weightedElement<std::string>({{9, "allocated"},
                                                                                 {9, "failed"},
                                                                                 {9, "materialize"},
                                                                                 {9, "by_operator"},
                                                                                 {1, "made up"},
                                                                                 {1, ""}}),
                                 .detail = *rc::gen::weightedElement<std::string>({{9, ""},
                                                                                   {9, "jit_expired"},
                                                                                   {1, std::string(64, '0')},
                                                                                   {1, std::string(65, 'a')},
                                                                                   {1, "Free text"}})});
        }
        break;
      case Kind::prune:
        step.before = *inRange(-1, 10);
        step.keep = *inRange(-1, kAttempts);
        step.limit = *inRange(-1, kAttempts);
        break;
      case Kind::put:
      case Kind::remove:
        step.instance = *rc::gen::element<std::string>("a", "b");
        step.key = *rc::gen::element<std::string>("k", "kk", "K", "é");
        step.value = *rc::gen::element<std::string>("", "1", std::string("\0\xff", 2));
        break;
      case Kind::restart:
      case Kind::lose_power: break;
    }
    return step;
  });
}

void spoil(Attempt& attempt, int fact) {
  switch (fact) {
    case 1: attempt.generation = domain::Generation("another"); break;
    case 2: attempt.policy.max ^= 1; break;
    case 3: attempt.runtime += "x"; break;
    case 4: attempt.slot = attempt.slot.value_or(0) + 1; break;
    case 5: attempt.runner = domain::RunnerId(attempt.runner ? attempt.runner->get() ^ 1 : 1); break;
    case 6: attempt.state = domain::State::idle; break;
    default: break;
  }
}

Attempt next_of(const Change& change, const Attempt* before) {
  std::mt19937_64 random(change.seed);
  Attempt made =
      before != nullptr ? sample::changed(*before, random) : sample::random_attempt(change.number, random);
  if (before == nullptr) {
    made.runtime = "/srv/" + std::to_string(random() % 4);
    if (made.slot) made.slot = random() % 3;
  }
  if (random() % 2 == 0) {
    made.state = domain::State::cleaned;
    made.deregistration_owed = made.replacement_wanted = false;
  }
  // Settled ones share ends, so that their order decides.
  made.changed_at.wall_ms = static_cast<std::int64_t>(random() % 8);
  if (before != nullptr) spoil(made, change.spoil);
  if (made.state != domain::State::cleaned) made.residue_until.reset();
  if (made.residue_until) made.residue_until->wall_ms = static_cast<std::int64_t>(random() % 8);
  return made;
}

journal::Batch batch_of(const Step& step, const JournalModel& model) {
  journal::Batch batch{{}, step.events};
  for (const Change& change : step.changes) {
    const JournalModel::Row* row = model.find(id_of(change.number));
    const Attempt* before = row == nullptr ? nullptr : &row->attempt;
    for (const Attempt& earlier : batch.attempts) {
      if (earlier.id == id_of(change.number)) before = &earlier;
    }
    Attempt next = next_of(change, before);
    batch.attempts.push_back(std::move(next));
  }
  return batch;
}

// The journal under test on a disk of its own.
class Subject {
 public:
  Subject() : disk_("properties-" + std::to_string(++disks_)) {
    static const auto blank = [this] {
      open();
      journal_.reset();
      return disk_.image();
    }();
    disk_.load(blank);
    open();
  }
  ~Subject() { journal_.reset(); }
  journal::Journal& operator*() { return *journal_; }
  journal::Journal* operator->() { return journal_.get(); }

  void restart() {
    journal_.reset();
    open();
  }
  void lose_power() {
    disk_.crash();
    restart();
  }
  void cut_power_at_sync(int number) {
    disk_.fail(simulation::Operation::sync, static_cast<std::uint64_t>(number), simulation::Fault::power_cut);
  }

 private:
  void open() {
    journal::OpenOptions options;
    options.path = "/journal.db";
    options.vfs = disk_.name();
    options.installation = "installation-1";
    options.machine = "machine-1";
    auto opened = journal::Journal::open(options);
    if (!opened) throw std::runtime_error(opened.error().message);
    journal_ = std::move(*opened);
  }
  static inline int disks_ = 0;
  simulation::MemoryVfs disk_;
  std::unique_ptr<journal::Journal> journal_;
};

// Equal to the letter: targets compare folded.
bool same(const Attempt& one, const Attempt& other) {
  return one == other && one.policy.target.str() == other.policy.target.str();
}

bool same(const std::vector<Attempt>& found, const std::vector<Attempt>& expected) {
  return std::equal(found.begin(), found.end(), expected.begin(), expected.end(),
                    [](const Attempt& one, const Attempt& other) { return same(one, other); });
}

bool same(const std::vector<EventRecord>& found, const std::vector<EventRecord>& expected) {
  const auto parts = [](const EventRecord& event) {
    return std::tie(event.attempt, event.at, event.word, event.detail);
  };
  return std::equal(
      found.begin(), found.end(), expected.begin(), expected.end(),
      [&parts](const EventRecord& one, const EventRecord& other) { return parts(one) == parts(other); });
}

std::vector<Attempt> sorted(std::vector<Attempt> attempts) {
  std::sort(attempts.begin(), attempts.end(),
            [](const Attempt& one, const Attempt& other) { return one.id < other.id; });
  return attempts;
}

std::vector<Attempt> chosen(const JournalModel& model, bool (*keep)(const Attempt&)) {
  std::vector<Attempt> made;
  for (const JournalModel::Row& row : model.rows()) {
    if (keep(row.attempt)) made.push_back(row.attempt);
  }
  return made;
}

// The first question to which the two answer differently; empty: none.
std::string difference(journal::Journal& journal, const JournalModel& model) {
  std::vector<Attempt> all = chosen(model, [](const Attempt&) { return true; });
  std::reverse(all.begin(), all.end());
  if (!same(*journal.recent(100), all)) return "recent";
  if (all.size() > 2) all.resize(2);
  if (!same(*journal.recent(2), all)) return "recent, the newest two";
  const auto active = chosen(model, [](const Attempt& attempt) { return !is_settled(attempt); });
  if (!same(*journal.load_active(), active)) return "active";
  const auto watched = chosen(model, [](const Attempt& attempt) {
    return attempt.residue_until && attempt.residue_until->wall_ms > 3;
  });
  if (!same(sorted(*journal.load_residues(3)), sorted(watched))) return "residues";
  for (int number = 1; number <= kAttempts; ++number) {
    const JournalModel::Row* row = model.find(id_of(number));
    const auto found = *journal.find(id_of(number));
    if (found.has_value() != (row != nullptr)) return "whether there is " + id_of(number).str();
    if (row != nullptr && !same(*found, row->attempt)) return "row of " + id_of(number).str();
    const auto events = *journal.events_of(id_of(number));
    if (!same(events, row == nullptr ? std::vector<EventRecord>{} : row->events))
      return "events of " + id_of(number).str();
  }
  std::map<JournalModel::Place, std::string> values;
  for (const char* name : {"a", "b"}) {
    const domain::InstanceName instance(name);
    const auto keys = journal.kv_list(instance, "");
    for (const std::string& key : *keys)
      values[{name, key}] = **journal.kv_get(instance, key);
  }
  return values == model.values ? "" : "small maps";
}

void lose_power_during(const Step& step, Subject& subject, JournalModel& model) {
  const journal::Batch batch = batch_of(step, model);
  JournalModel after = model;
  const auto refused = after.commit(batch);
  subject.cut_power_at_sync(step.cut_at);
  const auto done = subject->commit(batch);
  if (refused) RC_ASSERT(!done.ok());
  subject.lose_power();
  // What was reported is there; what was not is there as a whole or not at all.
  if (done.ok() || difference(*subject, model) != "") model = after;
}

void take(const Step& step, Subject& subject, JournalModel& model) {
  const domain::InstanceName instance(step.instance);
  switch (step.kind) {
    case Kind::commit: {
      const journal::Batch batch = batch_of(step, model);
      const auto refused = model.commit(batch);
      const auto done = subject->commit(batch);
      RC_ASSERT(done.ok() == !refused.has_value());
      if (refused) RC_ASSERT(done.error().code == *refused);
      break;
    }
    case Kind::commit_and_lose_power: lose_power_during(step, subject, model); break;
    case Kind::prune: {
      const auto removed = subject->prune(step.before, step.keep, step.limit);
      RC_ASSERT(removed.ok());
      RC_ASSERT(*removed == model.prune(step.before, step.keep, step.limit));
      break;
    }
    case Kind::put:
      RC_ASSERT(subject->kv_put(instance, step.key, step.value).ok());
      model.values[{step.instance, step.key}] = step.value;
      break;
    case Kind::remove:
      RC_ASSERT(subject->kv_remove(instance, step.key).ok());
      model.values.erase({step.instance, step.key});
      break;
    case Kind::restart: subject.restart(); break;
    case Kind::lose_power: subject.lose_power(); break;
  }
}

RC_GTEST_PROP(Journal, does_what_plain_containers_do_whatever_happens_to_it, ()) {
  const auto history = *rc::gen::scale(0.3, rc::gen::container<std::vector<Step>>(steps()));
  Subject subject;
  JournalModel model;
  for (const Step& step : history) {
    take(step, subject, model);
    RC_ASSERT(difference(*subject, model) == "");
  }
}

}  // namespace
}  // namespace properties
