// rmgr-plugin-check LIBRARY [ID]: loads a plugin library in this process and looks at everything that can be
// looked at without an instance. Exit code 0, or 1 after one sentence. The daemon runs it before it loads a
// new file itself.
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include "plugin/library.hpp"
#include "plugin/schema.hpp"

namespace {

using namespace agent;

class SilentLog final : public observe::Log {
 public:
  void write(observe::Level /*level*/, observe::Event /*event*/, observe::Fields /*fields*/) override {}
};

domain::Result<void> check(const std::string& path, const std::string& id) {
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
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fputs("usage: rmgr-plugin-check LIBRARY [ID]\n", stderr);
    return 2;
  }
  try {
    const auto result = check(argv[1], argc == 3 ? argv[2] : "");
    if (result) return 0;
    std::fprintf(stderr, "%s\n", result.error().message.c_str());
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "The check broke: %s\n", failure.what());
  }
  return 1;
}
