#include "conform/options.hpp"
#include "conform/files.hpp"
#include "conform/pattern.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

namespace rmgr::conform {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t most_config = 256 * 1024;

template <class Number>
bool number(const std::string& word, Number least, Number most, Number& out) {
  Number value{};
  const auto read = std::from_chars(word.data(), word.data() + word.size(), value);
  if (read.ec != std::errc() || read.ptr != word.data() + word.size() || value < least || value > most)
    return false;
  out = value;
  return true;
}

std::string read_config_file(const std::string& path, Plan& plan) {
  std::error_code failure;
  const std::uintmax_t size = fs::file_size(path, failure);
  if (failure || size > most_config)
    return "the configuration " + path + " cannot be read or is larger than 256 KiB";
  const std::string problem = read_config(read_file(path).value_or(""), plan);
  return problem.empty() ? "" : "the configuration " + path + " is wrong: " + problem;
}

// Options with a value; answers the problem.
std::string take(const std::string& name, const std::string& value, Options& options) {
  if (name == "--config") return read_config_file(value, options.plan);
  if (name == "--include" || name == "--exclude") {
    (name == "--include" ? options.choice.include : options.choice.exclude) = value;
    return Pattern(value).ok() ? "" : name + " wants a POSIX extended regular expression";
  }
  if (name == "--repeat")
    return number(value, 1, 1000, options.plan.repeat) ? "" : "--repeat wants 1 to 1000";
  if (name == "--timeout")
    return number(value, 1, 3600, options.plan.seconds) ? "" : "--timeout wants 1 to 3600 seconds";
  return number(value, std::uint64_t{0}, ~std::uint64_t{0}, options.plan.seed) ? "" : "--seed wants a number";
}

bool has_value(const std::string& word) {
  constexpr std::array<std::string_view, 6> names{"--config", "--include", "--exclude",
                                                  "--repeat", "--seed",    "--timeout"};
  return std::find(names.begin(), names.end(), word) != names.end();
}

bool take_flag(const std::string& word, Options& options) {
  if (word == "--json")
    options.form = Form::json;
  else if (word == "--junit")
    options.form = Form::junit;
  else if (word == "--in-process")
    options.choice.in_process = true;
  else if (word == "--keep")
    options.choice.keep = true;
  else if (word == "--list")
    options.list = true;
  else if (word == "--help" || word == "-h")
    options.help = true;
  else
    return false;
  return true;
}

std::string find_plugin(const std::string& word, Plan& plan) {
  std::error_code failure;
  const fs::path path = fs::canonical(word, failure);
  if (failure || !fs::is_regular_file(path, failure)) return "there is no plugin library " + word;
  plan.plugin = path.string();
  return {};
}

}  // namespace

std::string usage() {
  return "usage: rmgr-conform run PLUGIN [--config FILE] [--include REGEX] [--exclude REGEX] [--repeat N]\n"
         "                        [--seed N] [--timeout SECONDS] [--json|--junit] [--in-process] [--keep]\n"
         "       rmgr-conform --list [--json]\n"
         "\n"
         "Runs the conformance tests on a plugin library, each in a process of its own.\n"
         "\n"
         "  PLUGIN           the library; its manifest is beside it\n"
         "  --config FILE    JSON: the instance's configuration, or an object with the member \"conform\"\n"
         "                   that holds one for each interface; {} without this option\n"
         "  --include REGEX  only tests whose id matches; --exclude REGEX leaves tests out\n"
         "  --repeat N       how often what must be repeatable is repeated (10)\n"
         "  --seed N         of damaged inputs; the results name it\n"
         "  --timeout S      how long one test may take (30)\n"
         "  --in-process     no child processes, for debuggers\n"
         "  --keep           leave the scratch directories\n"
         "\n"
         "Exit codes: 0 nothing failed or crashed, 1 something did, 2 the command line or configuration is "
         "wrong.\n";
}

std::string read_config(const std::string& text, Plan& plan) {
  const auto json = Json::parse(text);
  if (!json || !json->is(Json::Kind::object)) return "it is no JSON object";
  const Json* const conform = json->find("conform");
  if (conform == nullptr) {
    plan.config = *json;
    return {};
  }
  if (!conform->is(Json::Kind::object)) return "\"conform\" must be an object";
  for (const Json::Member& member : conform->members()) {
    const bool known = member.key == "target" || member.key == "image" || member.key == "os" ||
                       member.key == "architecture" || member.key == "label";
    if (!known)
      return "\"conform\" knows target, image, label, os and architecture, not \"" +
             printable(member.key, 100) + "\"";
    if (!member.value.is(Json::Kind::text)) return "\"" + member.key + "\" must be a text";
  }
  plan.settings = *conform;
  for (const Json::Member& member : json->members()) {
    if (member.key == "conform") continue;
    if (member.key != "config" && bit_of(member.key) == 0)
      return "beside \"conform\" it may hold config, execution-provider, package-source and gateway, not \"" +
             printable(member.key, 100) + "\"";
    if (!member.value.is(Json::Kind::object)) return "\"" + member.key + "\" must be an object";
    if (member.key == "config")
      plan.config = member.value;
    else
      plan.configs.set(member.key, member.value);
  }
  return {};
}

Options read_options(const std::vector<std::string>& words) {
  Options options;
  std::vector<std::string> plain;
  for (std::size_t i = 0; i < words.size() && options.problem.empty(); ++i) {
    const std::string& word = words[i];
    if (has_value(word)) {
      if (i + 1 < words.size())
        options.problem = take(word, words[++i], options);
      else
        options.problem = word + " wants a value";
    } else if (word.starts_with('-')) {
      if (!take_flag(word, options)) options.problem = "the option " + printable(word, 100) + " is unknown";
    } else {
      plain.push_back(word);
    }
  }
  if (!options.problem.empty() || options.help) return options;
  if (options.list) {
    if (!plain.empty()) options.problem = "--list wants no plugin";
    return options;
  }
  if (plain.size() != 2 || plain[0] != "run")
    options.problem = "run and one plugin are wanted";
  else
    options.problem = find_plugin(plain[1], options.plan);
  return options;
}

}  // namespace rmgr::conform
