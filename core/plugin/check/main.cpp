// rmgr-plugin-check LIBRARY [ID [--schemas]]: loads a plugin library in this process and looks at everything
// that can be looked at without an instance. Exit code 0, or 1 after one sentence. The daemon runs it before
// it loads a new file itself. With --schemas it prints {interface id: schema}.
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "plugin/library.hpp"
#include "plugin/schema.hpp"

namespace {

using namespace agent;

class SilentLog final : public observe::Log {
 public:
  void write(observe::Level /*level*/, observe::Event /*event*/, observe::Fields /*fields*/) override {}
};

domain::Result<void> check(const std::string& path, const std::string& id, bool show) {
  std::string all;
  SilentLog log;
  auto loaded = plugin::Library::load(path, id, std::make_shared<plugin::Ports>(log, plugin::HostOptions{}));
  if (!loaded) return loaded.error();
  const std::vector<std::string> interfaces = (*loaded)->interfaces();
  if (interfaces.empty()) return domain::Error{domain::ErrorCode::invalid, "It offers no interface.", {}};
  for (const std::string& interface : interfaces) {
    const auto component = (*loaded)->component(interface);
    if (!component) return component.error();
    const auto schema = plugin::check_config(plugin::view_of((*component)->config_schema()), "{}");
    if (!schema) return schema.error();
    // An interface id needs no escapes, and the schema is JSON, as was just seen.
    all += (all.empty() ? "{\"" : ",\"") + interface +
           "\":" + std::string(plugin::view_of((*component)->config_schema()));
  }
  if (show) std::printf("%s}\n", all.c_str());
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const bool show = argc == 4 && std::string_view(argv[3]) == "--schemas";
  if (argc < 2 || argc > 4 || (argc == 4 && !show)) {
    std::fputs("usage: rmgr-plugin-check LIBRARY [ID [--schemas]]\n", stderr);
    return 2;
  }
  try {
    const auto result = check(argv[1], argc >= 3 ? argv[2] : "", show);
    if (result) return 0;
    std::fprintf(stderr, "%s\n", result.error().message.c_str());
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "The check broke: %s\n", failure.what());
  }
  return 1;
}
