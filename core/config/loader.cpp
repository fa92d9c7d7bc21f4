#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <system_error>

#include "config/config.hpp"
#include "config/readers.hpp"
#include "config/secrets.hpp"
#include "config/yaml.hpp"
#include "observe/text.hpp"

namespace agent::config {
namespace {

constexpr std::size_t kLargestFile = 1024 * 1024;

Loaded refuse(const std::string& name, std::string message) {
  Loaded loaded;
  loaded.problems.push_back({name, 0, 0, std::move(message), {}, 0});
  return loaded;
}

std::string reason(int error) { return std::generic_category().message(error); }

// What no configuration needs and what the parser would pass on or mend: control characters, invalid UTF-8,
// and tabs as indentation, which look like another depth than they have.
void check_characters(std::string_view text, Problems& problems) {
  Mark mark{1, 1};
  bool indentation = true;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    const std::size_t length = observe::utf8_length(text, i);
    if (c == '\t' && indentation) {
      problems.add(mark, "a tab cannot indent; use spaces");
    } else if ((byte < 0x20 && c != '\n' && c != '\r' && c != '\t') || byte == 0x7f) {
      problems.add(mark, "a control character stands here; remove it");
    } else if (length == 0) {
      problems.add(mark, "this is not UTF-8; save the file in that encoding");
    }
    indentation = c == '\n' || (indentation && c == ' ');
    mark = c == '\n' ? Mark{mark.line + 1, 1} : Mark{mark.line, mark.column + 1};
    i += length == 0 ? 1 : length;
  }
}

std::optional<Configuration> read(const Node& document, Problems& problems) {
  if (document.kind != Node::Kind::map) {
    problems.add(document.kind == Node::Kind::null ? Mark{} : document.mark,
                 "the file must be a map of keys and values, not " + describe(document));
    return std::nullopt;
  }
  check_secrets(document, problems);
  Configuration configuration;
  Section root(&document, "the configuration", problems);
  read_daemon(root, configuration, problems);
  read_instances(root, configuration, problems);
  read_policies(root, configuration, problems);
  root.finish();
  return configuration;
}

}  // namespace

Loaded load_text(const std::string& text, const std::string& name) {
  if (text.size() > kLargestFile) return refuse(name, "the file is larger than 1 MiB");
  Problems problems;
  Extents extents(text);
  check_characters(text, problems);
  std::optional<Configuration> configuration;
  if (!problems.empty()) {
    extents.hide_all();
  } else {
    const std::optional<Node> document = parse_yaml(text, problems, extents);
    if (document) {
      configuration = read(*document, problems);
    } else if (problems.empty()) {
      problems.add({}, "the file is empty; it needs at least `state` and the policies");
    }
  }
  Loaded loaded;
  loaded.problems = problems.finish(name, text, extents);
  if (loaded.problems.empty()) loaded.configuration = std::move(configuration);
  loaded.text = text;
  return loaded;
}

std::vector<Problem> problems_of(const Loaded& loaded, const std::string& name,
                                 const std::vector<Finding>& findings) {
  Problems problems;
  for (const Finding& finding : findings)
    problems.add({finding.place.line, finding.place.column}, finding.message);
  Extents extents(loaded.text);
  Problems none;  // the file was accepted
  (void)parse_yaml(loaded.text, none, extents);
  for (const Finding& finding : findings) {
    if (finding.hidden) extents.hide_at({finding.place.line, finding.place.column});
  }
  return problems.finish(name, loaded.text, extents);
}

std::vector<Key> all_keys() {
  // One of each list, and nothing that can be left out: so every reader is asked, and every default shows.
  const std::string text =
      "state: /STATE\ngateways: [{name: g, plugin: p}]\npackage_sources: [{name: s, plugin: p}]\n"
      "providers: [{name: r, plugin: p}]\npolicies: [{name: a, target: o/r, root: /r, labels: [x]}]\n";
  const std::map<std::string, std::string, std::less<>> prefixes{{"the configuration", ""},
                                                                 {"control", "control."},
                                                                 {"host", "host."},
                                                                 {"polling", "polling."},
                                                                 {"history", "history."},
                                                                 {"packages", "packages."},
                                                                 {"log", "log."},
                                                                 {"plugins", "plugins."},
                                                                 {"a gateway", "gateways[]."},
                                                                 {"a package source", "package_sources[]."},
                                                                 {"a provider", "providers[]."},
                                                                 {"a policy", "policies[]."},
                                                                 {"timeouts", "policies[].timeouts."},
                                                                 {"profile", "policies[].profile."}};
  Problems problems;
  std::vector<Asked> asked;
  problems.listen(asked);
  Extents extents(text);
  const std::optional<Node> document = parse_yaml(text, problems, extents);
  if (document) (void)read(*document, problems);
  std::vector<Key> keys;
  for (Asked& one : asked) {
    if (const auto at = one.otherwise.find("/STATE"); at == 0) one.otherwise.replace(0, 6, "<state>");
    keys.push_back({prefixes.at(one.section) + one.key, std::move(one.kind), std::move(one.otherwise),
                    std::move(one.range), one.required});
  }
  return keys;
}

Loaded load_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return refuse(path, "the file cannot be read: " + reason(errno));
  struct Closer {
    int fd;
    ~Closer() { ::close(fd); }
  } const closer{fd};
  struct stat status {};
  if (::fstat(fd, &status) != 0) return refuse(path, "the file cannot be read: " + reason(errno));
  if (!S_ISREG(status.st_mode)) return refuse(path, "this is not a regular file");
  std::string text(kLargestFile + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = ::read(fd, text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return refuse(path, "the file cannot be read: " + reason(errno));
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  text.resize(size);
  return load_text(text, path);
}

}  // namespace agent::config
