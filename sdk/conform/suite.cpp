#include "conform/suite.hpp"
#include "conform/files.hpp"
#include "conform/pattern.hpp"

#include <stdlib.h>  // NOLINT(modernize-deprecated-headers) mkdtemp
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "conform/elf.hpp"

namespace rmgr::conform {
namespace {

namespace fs = std::filesystem;

// The interfaces of the library, or where that cannot be read from it, of its manifest.
std::vector<std::string> interfaces_of(const Plan& plan) {
  std::vector<std::string> ids = read_elf(plan.plugin).interfaces;
  if (ids.empty()) {
    fs::path path = plan.plugin;
    const auto manifest =
        Json::parse(read_file(path.replace_extension(".manifest.json").string()).value_or(""));
    if (manifest) {
      for (const Json& one : manifest->at("interfaces").items())
        ids.push_back(one.as_text());
    }
  }
  std::vector<std::string> names;
  for (const std::string& id : ids) {
    if (const std::string name = short_name(id); !name.empty()) names.push_back(name);
  }
  return names;
}

// A directory that other accounts can pass through, since a runner may have one of its own.
std::string make_scratch() {
  std::string pattern = (fs::temp_directory_path() / "rmgr-conform-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) return {};
  ::chmod(pattern.c_str(), 0711);
  return pattern;
}

class Selection {
 public:
  explicit Selection(const Choice& choice)
      : include_(choice.include), exclude_(choice.exclude), excludes_(!choice.exclude.empty()) {}
  [[nodiscard]] bool has(std::string_view id) const {
    const std::string text(id);
    return include_.found_in(text) && !(excludes_ && exclude_.found_in(text));
  }

 private:
  Pattern include_, exclude_;
  bool excludes_;
};

bool bad(Status status) { return status == Status::failed || status == Status::crashed; }

// Why the test would only repeat another's failure; empty if it would not.
std::string lacks(const Test& test, const std::string& interface, const std::vector<Result>& results) {
  for (const std::string_view need : test.needs) {
    for (const Result& one : results) {
      if (one.id != need || (!one.interface.empty() && one.interface != interface)) continue;
      if (bad(one.outcome.status))
        return "It needs " + one.id + ", which " + std::string(to_string(one.outcome.status)) + ".";
      if (one.outcome.status == Status::skipped) return "It needs " + one.id + ", which was skipped.";
    }
  }
  return {};
}

Result run_one(const Plan& plan, const Choice& choice, const Test& test, const std::string& interface,
               const std::string& scratch) {
  const std::string own = scratch + "/" + std::string(test.id) + (interface.empty() ? "" : "-" + interface);
  ::mkdir(own.c_str(), 0711);
  const Run run =
      choice.in_process ? run_here(plan, test, interface, own) : run_in_child(plan, test, interface, own);
  if (!choice.keep) {
    std::error_code ignored;
    fs::remove_all(own, ignored);
  }
  return {std::string(test.id), interface, run.outcome, run.milliseconds, run.output};
}

}  // namespace

std::vector<Result> run_suite(const Plan& plan, const Choice& choice,
                              const std::function<void(const Result&)>& seen) {
  std::vector<Result> results;
  const Selection selection(choice);
  const std::vector<std::string> interfaces = interfaces_of(plan);
  const std::string scratch = make_scratch();
  for (const Test& test : all_tests()) {
    if (!selection.has(test.id)) continue;
    std::vector<std::string> subjects;
    if (test.interfaces == for_library) subjects.emplace_back();
    for (const std::string& name : interfaces) {
      if ((test.interfaces & bit_of(name)) != 0) subjects.push_back(name);
    }
    for (const std::string& subject : subjects) {
      const std::string missing = lacks(test, subject, results);
      results.push_back(missing.empty()
                            ? run_one(plan, choice, test, subject, scratch)
                            : Result{std::string(test.id), subject, {Status::skipped, missing}, 0, ""});
      seen(results.back());
    }
  }
  if (!choice.keep) {
    std::error_code ignored;
    fs::remove_all(scratch, ignored);
  }
  return results;
}

bool good(const std::vector<Result>& results) {
  return std::none_of(results.begin(), results.end(),
                      [](const Result& one) { return bad(one.outcome.status); });
}

}  // namespace rmgr::conform
