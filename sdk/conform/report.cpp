// Results and the list of tests as text, JSON and JUnit.
#include <algorithm>

#include "conform/suite.hpp"

namespace rmgr::conform {
namespace {

std::vector<std::string> names_of(unsigned bits) {
  std::vector<std::string> names;
  for (const char* name : {"execution-provider", "package-source", "gateway"}) {
    if ((bits & bit_of(name)) != 0) names.emplace_back(name);
  }
  return names;
}

long long count(const std::vector<Result>& results, Status status) {
  return std::count_if(results.begin(), results.end(),
                       [&](const Result& one) { return one.outcome.status == status; });
}

constexpr Status statuses[] = {Status::success, Status::failed, Status::crashed, Status::skipped,
                               Status::warning};

std::string xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string name_of(const Result& result) {
  return result.id + (result.interface.empty() ? "" : "[" + result.interface + "]");
}

}  // namespace

std::string list_text() {
  std::string out;
  for (const Test& test : all_tests()) {
    std::string line(test.id);
    line.resize(std::max<std::size_t>(line.size() + 2, 36), ' ');
    line += test.description;
    for (const std::string& name : names_of(test.interfaces))
      line += " [" + name + "]";
    out += line + "\n";
  }
  return out;
}

std::string list_json() {
  Json tests = Json::array();
  for (const Test& test : all_tests()) {
    Json interfaces = Json::array();
    for (const std::string& name : names_of(test.interfaces))
      interfaces.push(Json::text(name));
    tests.push(Json::object()
                   .set("id", Json::text(test.id))
                   .set("description", Json::text(test.description))
                   .set("interfaces", interfaces));
  }
  return Json::object().set("tests", tests).dump() + "\n";
}

std::string result_text(const Result& result) {
  std::string status(to_string(result.outcome.status));
  status.resize(8, ' ');
  return status + " " + name_of(result) + ": " + result.outcome.reason + "\n";
}

std::string summary_text(const std::vector<Result>& results) {
  std::string out;
  for (const Status status : statuses)
    out += (out.empty() ? "" : ", ") + std::to_string(count(results, status)) + " " +
           std::string(to_string(status));
  return out + "\n";
}

std::string results_json(const Plan& plan, const std::vector<Result>& results) {
  Json rows = Json::array();
  for (const Result& one : results) {
    Json row = Json::object();
    row.set("id", Json::text(one.id));
    row.set("interface", one.interface.empty() ? Json() : Json::text(one.interface));
    row.set("status", Json::text(to_string(one.outcome.status)));
    row.set("reason", Json::text(one.outcome.reason));
    row.set("milliseconds", Json::integer(one.milliseconds));
    row.set("output", Json::text(printable(one.output, 4000)));
    rows.push(std::move(row));
  }
  Json summary = Json::object();
  for (const Status status : statuses)
    summary.set(to_string(status), Json::integer(count(results, status)));
  return Json::object()
             .set("plugin", Json::text(plan.plugin))
             .set("seed", Json::text(std::to_string(plan.seed)))
             .set("ok", Json::boolean(good(results)))
             .set("summary", summary)
             .set("results", rows)
             .dump() +
         "\n";
}

std::string results_junit(const Plan& plan, const std::vector<Result>& results) {
  long long total = 0;
  for (const Result& one : results)
    total += one.milliseconds;
  const auto seconds = [](long long ms) { return std::to_string(static_cast<double>(ms) / 1000.0); };
  std::string out =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"rmgr-conform\" tests=\"" +
      std::to_string(results.size()) + "\" failures=\"" + std::to_string(count(results, Status::failed)) +
      "\" errors=\"" + std::to_string(count(results, Status::crashed)) + "\" skipped=\"" +
      std::to_string(count(results, Status::skipped)) + "\" time=\"" + seconds(total) + "\">\n" +
      "  <properties><property name=\"plugin\" value=\"" + xml(printable(plan.plugin)) +
      "\"/><property name=\"seed\" value=\"" + std::to_string(plan.seed) + "\"/></properties>\n";
  for (const Result& one : results) {
    const std::string reason = xml(printable(one.outcome.reason, 2000));
    out += "  <testcase classname=\"" + xml(one.id.substr(0, one.id.find('.'))) + "\" name=\"" +
           xml(name_of(one)) + "\" time=\"" + seconds(one.milliseconds) + "\">";
    switch (one.outcome.status) {
      case Status::success: break;
      case Status::failed: out += "<failure message=\"" + reason + "\"/>"; break;
      case Status::crashed: out += "<error message=\"" + reason + "\"/>"; break;
      case Status::skipped: out += "<skipped message=\"" + reason + "\"/>"; break;
      case Status::warning: out += "<system-out>warning: " + reason + "</system-out>"; break;
    }
    if (!one.output.empty()) out += "<system-err>" + xml(printable(one.output, 4000)) + "</system-err>";
    out += "</testcase>\n";
  }
  return out + "</testsuite>\n";
}

}  // namespace rmgr::conform
