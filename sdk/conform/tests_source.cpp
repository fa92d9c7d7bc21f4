// lifecycle, idempotence and recovery of package sources.
#include <algorithm>
#include <fstream>

#include "conform/clients.hpp"
#include "conform/files.hpp"

namespace rmgr::conform {
namespace {

bool is_version(const std::string& text) {
  const auto dots = std::count(text.begin(), text.end(), '.');
  return dots >= 1 && dots <= 3 && text.find_first_not_of("0123456789.") == std::string::npos &&
         text.front() != '.' && text.back() != '.' && text.find("..") == std::string::npos;
}

void check(const Package& one) {
  const std::string who = "The package " + printable(one.filename, 100);
  expect(is_version(one.version), who + " has no version of 2 to 4 numbers.");
  expect(one.filename.ends_with(".tar.gz") || one.filename.ends_with(".zip"),
         who + " is neither .tar.gz nor .zip.");
  expect(one.filename.find('/') == std::string::npos, who + " has a slash in its name.");
  const bool hash =
      one.sha256.size() == 64 && one.sha256.find_first_not_of("0123456789abcdef") == std::string::npos;
  expect(one.sha256.empty() || hash, who + " has a SHA-256 that is not 64 lower-case hexadecimal digits.");
  expect(one.size >= -1, who + " has a negative size.");
  expect(!one.ref.empty() && one.ref.size() <= 4096, who + " has no usable ref.");
}

std::string catalog(Context& context) {
  SourceClient source(context);
  std::vector<Package> packages;
  const Answer answer = source.catalog(packages);
  expect(answer.ok(),
         answer.text() + "; name a target of yours in the configuration as \"conform\": {\"target\": …}.");
  for (const Package& one : packages)
    check(one);
  if (packages.empty()) warn("It offers no package, so nothing can be fetched.");
  return "It offers " + std::to_string(packages.size()) + " packages.";
}

Fetched whole(SourceClient& source, const Package& package) {
  Fetched fetched;
  const Answer answer = source.fetch(package.ref, 0, "", fetched);
  expect(answer.ok(), answer.text() + ".");
  expect(fetched.problem.empty(), "fetch broke its stream: " + fetched.problem + ".");
  expect(fetched.begins == 1, "fetch answered ok without begin.");
  const auto size = static_cast<std::int64_t>(fetched.bytes.size());
  expect(fetched.total < 0 || fetched.total == size, "fetch announced another size than it sent.");
  expect(package.size < 0 || package.size == size, "catalog names another size than fetch sent.");
  return fetched;
}

std::string fetch(Context& context) {
  SourceClient source(context);
  const Package package = source.first();
  const Fetched all = whole(source, package);
  const auto half = static_cast<std::int64_t>(all.bytes.size() / 2);
  Fetched rest;
  const Answer answer = source.fetch(package.ref, half, all.validator, rest);
  expect(answer.ok(), "From the middle on " + answer.text() + ".");
  expect(rest.problem.empty(), "fetch broke its stream: " + rest.problem + ".");
  const std::string wanted = rest.restarted ? all.bytes : all.bytes.substr(static_cast<std::size_t>(half));
  expect(rest.bytes == wanted, "The bytes from the middle on are not those of the whole.");
  return "A package of " + std::to_string(all.bytes.size()) +
         " bytes was fetched whole and from its middle on.";
}

std::string again(Context& context) {
  SourceClient source(context);
  std::vector<Package> first;
  expect(source.catalog(first).ok(), "catalog failed.");
  for (int i = 1; i < context.plan.repeat; ++i) {
    std::vector<Package> next;
    const Answer answer = source.catalog(next);
    expect(answer.ok(), "Again, " + answer.text() + ".");
    expect(next == first, "catalog answers differently each time.");
  }
  return "catalog answered the same " + std::to_string(context.plan.repeat) + " times.";
}

std::string ref_survives(Context& context) {
  SourceClient source(context);
  const std::string record = context.scratch + "/ref";
  if (context.phase == 0) {
    const Package package = source.first();
    std::ofstream(record, std::ios::binary) << package.ref;
    die();
  }
  Package package;
  package.ref = read_file(record).value_or("");
  const Fetched fetched = whole(source, package);
  return "A fresh process fetched " + std::to_string(fetched.bytes.size()) +
         " bytes by a ref of an earlier one.";
}

}  // namespace

Tests source_tests() {
  const std::vector<std::string_view> made{"config.accepted"};
  return {
      {"lifecycle.catalog", "Each package on offer is described as the contract says.", for_source, &catalog,
       made},
      {"lifecycle.fetch",
       "A package is delivered whole, and from the middle on.",
       for_source,
       &fetch,
       {"config.accepted", "lifecycle.catalog"}},
      {"idempotence.catalog",
       "catalog answers the same again.",
       for_source,
       &again,
       {"config.accepted", "lifecycle.catalog"}},
      {"recovery.ref",
       "A ref of before a crash can be fetched after it.",
       for_source,
       &ref_survives,
       {"config.accepted", "lifecycle.fetch"},
       2},
  };
}

}  // namespace rmgr::conform
