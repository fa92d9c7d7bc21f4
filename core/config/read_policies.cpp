#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "config/readers.hpp"
#include "domain/labels.hpp"

namespace agent::config {
namespace {

using domain::Millis;
using domain::Policy;

constexpr std::size_t kMostPolicies = 1000;
constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();  // the domain's rules say the range
constexpr Millis kAnyTime{kAny};
constexpr std::array<std::string_view, 2> kWorkspaces{"ephemeral", "persistent"};
constexpr std::array<std::string_view, 3> kStates{"active", "paused", "draining"};

// A field of the domain's messages and the keys under which the file has it.
struct Place {
  std::string_view field, section, key;
};
constexpr std::array<Place, 4> kRenamed{
    Place{"package_source", "", "packages"}, Place{"profile.cpu_milli", "profile", "cpu"},
    Place{"profile.memory_bytes", "profile", "memory"}, Place{"profile.disk_bytes", "profile", "disk"}};

Place place_of(std::string_view field) {
  for (const Place& place : kRenamed) {
    if (place.field == field) return place;
  }
  const std::size_t point = field.find('.');
  if (point == std::string_view::npos) return {field, "", field};
  return {field, field.substr(0, point), field.substr(point + 1)};
}

std::vector<std::string> implicit_labels_of_this_machine() {
  utsname machine{};
  ::uname(&machine);
  return domain::implicit_labels(domain::fold(static_cast<const char*>(machine.sysname)),
                                 static_cast<const char*>(machine.machine));
}

bool is_inside(std::string_view inner, std::string_view outer) {
  return inner == outer || (inner.starts_with(outer) && inner[outer.size()] == '/');
}

class PolicyReader {
 public:
  PolicyReader(const Node& node, const Configuration& configuration, Problems& problems)
      : configuration_(configuration),
        problems_(problems),
        section_(&node, "a policy", problems),
        timeouts_(section_.map("timeouts"), "timeouts", problems),
        profile_(section_.map("profile"), "profile", problems) {}

  Policy read(const std::vector<std::string>& implicit) {
    std::string name;
    section_.required_text("name", name);
    policy_.name = domain::PolicyName(name);
    read_target();
    policy_.gateway = reference("gateway", configuration_.gateways);
    policy_.provider = reference("provider", configuration_.providers);
    policy_.package_source = reference("packages", configuration_.package_sources);
    read_labels(implicit);
    read_root();
    section_.integer("runner_group_id", policy_.runner_group_id, -kAny, kAny);
    section_.integer("min", policy_.min, -kAny, kAny);
    section_.integer("max", policy_.max, -kAny, kAny);
    section_.integer("warm", policy_.warm, -kAny, kAny);
    section_.integer("priority", policy_.priority, -1'000'000, 1'000'000);
    if (const auto word = section_.word("workspace", kWorkspaces, domain::to_string(policy_.workspace))) {
      policy_.workspace = *domain::parse<domain::WorkspaceKind>(*word);
    }
    if (const auto word = section_.word("state", kStates, domain::to_string(policy_.state))) {
      policy_.state = *domain::parse<domain::PolicyState>(*word);
    }
    read_timeouts();
    read_profile();
    section_.finish();
    for (const std::string& broken : domain::check_policy(policy_))
      add_rule(broken);
    return policy_;
  }

  [[nodiscard]] bool sound() const {
    return !broken_rule_ && !section_.failed() && !timeouts_.failed() && !profile_.failed();
  }
  [[nodiscard]] Mark name_mark() const { return section_.mark_of("name"); }

 private:
  void read_target() {
    std::string text;
    section_.required_text("target", text);
    if (text.empty()) return;
    auto target = domain::Target::parse(text);
    if (target) {
      policy_.target = std::move(*target);
    } else {
      section_.fail("target", section_.mark_of("target"), "target: " + target.error().message);
    }
  }

  // The named instance; the only one there is if none is named.
  domain::InstanceName reference(std::string_view key, const std::vector<Instance>& instances) {
    std::string name;
    section_.text(key, name);
    if (section_.failed(key)) return {};
    if (!section_.has(key)) {
      if (instances.size() == 1) {
        if (instances.front().name.empty()) section_.give_up(key);
        return instances.front().name;
      }
      section_.fail(key, section_.mark_of(key),
                    std::string(key) + " is missing in a policy; " +
                        (instances.empty() ? "none is configured"
                                           : "it may be left out only where there is exactly one"));
      return {};
    }
    std::vector<std::string_view> known;
    for (const Instance& instance : instances) {
      if (instance.name.str() == name) return instance.name;
      known.push_back(instance.name.str());
    }
    section_.fail(key, section_.mark_of(key),
                  std::string(key) + " " + shown(name) + " is " + otherwise(name, known));
    return {};
  }

  // What a name is that is none of the instances of the wanted kind.
  [[nodiscard]] std::string otherwise(std::string_view name,
                                      const std::vector<std::string_view>& known) const {
    const std::pair<const char*, const std::vector<Instance>*> kinds[] = {
        {"a gateway", &configuration_.gateways},
        {"a package source", &configuration_.package_sources},
        {"a provider", &configuration_.providers}};
    for (const auto& [kind, instances] : kinds) {
      for (const Instance& instance : *instances) {
        if (instance.name.str() == name) return std::string(kind) + "; name another instance";
      }
    }
    return "not configured." + suggestion(name, known);
  }

  // The operator's own come first, so that the domain's numbering is that of the file.
  void read_labels(const std::vector<std::string>& implicit) {
    policy_.labels = section_.texts("labels");
    if (!section_.has("labels")) {
      section_.fail("labels", section_.mark_of("labels"),
                    "labels is missing in a policy; [] means the implicit ones alone");
    }
    for (const std::string& label : implicit) {
      const bool written =
          std::any_of(policy_.labels.begin(), policy_.labels.end(),
                      [&](const std::string& own) { return domain::fold(own) == domain::fold(label); });
      if (!written) policy_.labels.push_back(label);
    }
  }

  void read_root() {
    section_.required_path("root", policy_.root);
    const std::string& state = configuration_.state_directory;
    if (policy_.root.empty() || state.empty()) return;
    if (is_inside(policy_.root, state) || is_inside(state, policy_.root)) {
      section_.fail("root", section_.mark_of("root"),
                    "root and the state directory must not lie in each other; jobs write to a root");
    }
  }

  void read_timeouts() {
    domain::Timeouts& out = policy_.timeouts;
    timeouts_.duration("jit_handoff", out.jit_handoff, Millis{0}, kAnyTime);
    timeouts_.duration("startup", out.startup, Millis{0}, kAnyTime);
    timeouts_.duration("idle", out.idle, Millis{0}, kAnyTime);
    timeouts_.duration("stop_grace", out.stop_grace, Millis{0}, kAnyTime);
    timeouts_.duration("job", out.job, Millis{0}, kAnyTime);
    timeouts_.finish();
  }

  void read_profile() {
    domain::Profile& out = policy_.profile;
    profile_.text("image", out.image);
    profile_.cpu("cpu", out.cpu_milli);
    profile_.size("memory", out.memory_bytes);
    profile_.size("disk", out.disk_bytes);
    profile_.integer("pids", out.pids, 0, kAny);
    profile_.finish();
  }

  // "field: what is wrong", at the field's place; a field that could not be read has its own message already.
  void add_rule(const std::string& broken) {
    const std::size_t colon = broken.find(':');
    const std::string_view field = std::string_view(broken).substr(0, colon);
    const Place place = place_of(field);
    const Section& section = place.section == "timeouts"  ? timeouts_
                             : place.section == "profile" ? profile_
                                                          : section_;
    broken_rule_ = true;
    if (section.failed(place.key)) return;
    std::string shown =
        (place.section.empty() ? "" : std::string(place.section) + ".") + std::string(place.key);
    if (colon != std::string::npos) shown += broken.substr(colon);
    const bool here = section.has(place.key);
    problems_.add(here ? section.mark_of(place.key) : name_mark(), here ? shown : broken);
  }

  const Configuration& configuration_;
  Problems& problems_;
  Section section_, timeouts_, profile_;
  Policy policy_;
  bool broken_rule_ = false;
};

// A rule between policies names them in back-quotes; it is shown at the last of them.
Mark place_between(const std::string& broken, const std::vector<std::pair<std::string, Mark>>& names) {
  Mark last{};
  std::size_t furthest = 0;
  for (const auto& [name, mark] : names) {
    const std::size_t at = broken.rfind("`" + name + "`");
    if (at == std::string::npos || at < furthest) continue;
    furthest = at;
    last = std::max(last, mark);
  }
  return last;
}

// A provider's `config` may say under `policies`, by the name of a policy, what differs for it. A name that
// none of its policies has would be a setting that silently does nothing.
void check_overrides(const Configuration& out, Problems& problems) {
  constexpr std::string_view below = "/policies/";
  for (const Instance& provider : out.providers) {
    for (const auto& [pointer, place] : provider.key_places) {
      if (!pointer.starts_with(below) || pointer.find('/', below.size()) != std::string::npos) continue;
      const std::string name = pointer.substr(below.size());
      // One whose provider could not be read has its own problem.
      const auto known = std::find_if(out.policies.begin(), out.policies.end(), [&](const Policy& policy) {
        return policy.name.str() == name &&
               (policy.provider == provider.name || policy.provider.str().empty());
      });
      if (known != out.policies.end()) continue;
      std::vector<std::string_view> own;
      for (const Policy& policy : out.policies) {
        if (policy.provider == provider.name) own.push_back(policy.name.str());
      }
      problems.add({place.line, place.column}, "no policy of the provider " + shown(provider.name.str()) +
                                                   " has the name " + shown(name) +
                                                   "; name one of its policies, or remove this part." +
                                                   suggestion(name, own));
    }
  }
}

}  // namespace

void read_policies(Section& root, Configuration& out, Problems& problems) {
  const Node* list = root.list("policies");
  if (list == nullptr) return;
  if (list->items.size() > kMostPolicies) {
    root.fail("policies", list->mark, "policies must have at most 1000 entries");
    return;
  }
  const std::vector<std::string> implicit = implicit_labels_of_this_machine();
  std::vector<Policy> sound;  // the rules between policies say nothing of one that could not be read
  std::vector<std::pair<std::string, Mark>> names;
  for (const Node& item : list->items) {
    if (item.kind != Node::Kind::map) {
      root.fail("policies", item.kind == Node::Kind::null ? list->mark : item.mark,
                "each of policies must be a map of keys and values, not " + describe(item));
      continue;
    }
    PolicyReader reader(item, out, problems);
    out.policies.push_back(reader.read(implicit));
    if (!reader.sound()) continue;
    sound.push_back(out.policies.back());
    names.emplace_back(sound.back().name.str(), reader.name_mark());
  }
  for (const std::string& broken : domain::check_policies(sound)) {
    problems.add(place_between(broken, names), broken);
  }
  check_overrides(out, problems);
}

}  // namespace agent::config
