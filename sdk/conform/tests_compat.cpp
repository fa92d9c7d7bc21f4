// compat: hosts of other minors than the one that the plugin was built with.
#include "conform/attempt.hpp"
#include "conform/clients.hpp"
#include "conform/script.hpp"
#include "rmgr/abi/host.h"

namespace rmgr::conform {
namespace {

// A whole round, of which the first part must go well.
void round(const Context& context, const std::string& when) {
  call_each(context, {}, [&](const Answer& answer) {
    expect(answer.status != RMGR_E_INTERNAL, when + " " + answer.text() + ".");
  });
  const std::string threw = witness().first(Breach::threw);
  expect(threw.empty(), when + " an exception left " + threw + ".");
}

// Structs end where they ended in each minor that the plugin says it can live with. The first minor had
// today's members, so there is nothing to cut off yet; a later minor adds the sizes of its forerunners to
// shape.hpp.
std::string older(Context& context) {
  const rmgr_plugin_entry_t& entry = load(context);
  if (entry.need_host_minor >= RMGR_ABI_MINOR)
    skip("It needs the newest host that this suite knows, so no older one has to do.");
  for (std::uint16_t minor = entry.need_host_minor; minor < RMGR_ABI_MINOR; ++minor) {
    shape() = {minor, 0};
    round(context, "On a host of minor " + std::to_string(minor));
  }
  return "It ran on hosts down to minor " + std::to_string(entry.need_host_minor) + ".";
}

std::string newer(Context& context) {
  shape() = {static_cast<std::uint16_t>(RMGR_ABI_MINOR + 1), most_padding};
  round(context, "On a host whose structs have grown");
  return "It ran on a host whose structs have grown.";
}

std::string without_services(Context& context) {
  const rmgr_plugin_entry_t& entry = load(context);
  const auto& part = component(context, entry);
  int made = 0;
  for (const char* absent : {RMGR_SERVICE_LOG, RMGR_SERVICE_CLOCK, RMGR_SERVICE_SECRETS, RMGR_SERVICE_KV,
                             RMGR_SERVICE_WORK_DIRECTORY, RMGR_SERVICE_THREAD_CHECK, RMGR_SERVICE_PROCESS}) {
    const auto host = std::make_shared<Host>(context, std::set<std::string>{absent});
    witness().keep(host);
    expect(init(entry, *host).status <= RMGR_STATUS_LAST, "init answered no status.");
    rmgr_instance* instance = nullptr;
    const Answer answer = create(part, *host, fitting_config(context, part), instance);
    const std::string threw = witness().first(Breach::threw);
    expect(threw.empty(), "Without " + std::string(absent) + " an exception left create.");
    if (answer.ok()) ++made;
    entry.deinit();
  }
  return std::to_string(made) + " of 7 hosts that lack a service were good enough to make an instance.";
}

}  // namespace

Tests compat_tests() {
  const std::vector<std::string_view> first{"config.accepted", "errors.contained"};
  return {
      {"compat.older", "It runs on hosts of every minor that it says is enough.", for_each, &older, first},
      {"compat.newer", "It runs on a host whose structs have grown.", for_each, &newer, first},
      {"compat.without_services", "A host without a service is answered, not crashed into.", for_each,
       &without_services, first},
  };
}

}  // namespace rmgr::conform
