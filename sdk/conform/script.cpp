#include "conform/script.hpp"

#include "conform/attempt.hpp"
#include "conform/clients.hpp"

namespace rmgr::conform {
namespace {

void each_of_provider(Provider& provider, const Context& context, const Within& within,
                      const std::function<void(const Answer&)>& seen) {
  Attempt attempt = make_attempt(context, Mode::waits);
  rmgr_probe probe{};
  std::string text;
  std::vector<Owned> owned;
  rmgr_environment_state state{};
  rmgr_start_result result{};
  seen(provider.probe(probe, text, within));
  seen(provider.prepare(attempt, within));
  if (provider.holds()) seen(provider.hold(attempt, within));
  seen(provider.start(attempt, result, within));
  seen(provider.inspect(attempt, state, within));
  seen(provider.recover(attempt, owned, within));
  seen(provider.enumerate(attempt.host, owned, within));
  seen(provider.stop(attempt, Millis(100), within));
  seen(provider.remove(attempt, within));
  provider.remove(attempt);  // whatever the limits let pass
}

void each_of_gateway(GatewayClient& gateway, const Within& within,
                     const std::function<void(const Answer&)>& seen) {
  int jobs = 0;
  std::vector<Runner> runners;
  std::int64_t id = 0;
  seen(gateway.demand(jobs, within));
  seen(gateway.inventory(runners, within));
  seen(gateway.register_runner("conform-" + random_hex(16), id, within));
  const std::int64_t registered = id;
  seen(gateway.deregister(id > 0 ? id : 999'999'999, within));
  if (registered > 0) gateway.deregister(registered);
}

void each_of_source(SourceClient& source, const Within& within,
                    const std::function<void(const Answer&)>& seen) {
  std::vector<Package> packages;
  Fetched fetched;
  seen(source.catalog(packages, within));
  if (packages.empty()) source.catalog(packages);
  seen(source.fetch(packages.empty() ? "no-such-ref" : packages.front().ref, 0, "", fetched, within));
}

void provoke_provider(const Context& context) {
  Provider provider(context);
  Attempt attempt = make_attempt(context, Mode::waits);
  rmgr_start_result result{};
  rmgr_environment_state state{};
  std::vector<std::string> lines;
  provider.start(attempt, result);
  if (provider.holds()) provider.hold(attempt);
  provider.diagnostics(attempt, lines);
  Attempt odd = attempt;
  odd.package = context.scratch + "/no-such-package";
  odd.runtime = context.scratch + "/no-such-runtime";
  provider.prepare(odd);
  if (provider.holds()) provider.hold(odd);
  odd.environment = "no-such-environment";
  odd.pid = 0x7FFFFFFF;
  odd.start_token = 1;
  odd.boot_id = "no-such-boot";
  odd.secret.clear();
  provider.start(odd, result);
  provider.inspect(odd, state);
  provider.stop(odd, Millis(0));
  provider.remove(odd);
  provider.remove(attempt);
}

void provoke_gateway(const Context& context) {
  GatewayClient gateway(context);
  std::int64_t id = 0;
  std::vector<Runner> runners;
  int jobs = 0;
  gateway.register_runner("", id);
  gateway.deregister(-1);
  for (const char* target : {"", "//", "no such target", "conform-nobody/no-such-repository"}) {
    gateway.aim(target);
    gateway.demand(jobs);
    gateway.inventory(runners);
    id = 0;
    gateway.register_runner("conform-" + random_hex(16), id);
    gateway.deregister(id > 0 ? id : 999'999'999);
  }
}

void provoke_source(const Context& context) {
  SourceClient source(context);
  std::vector<Package> packages;
  source.catalog(packages);
  for (const std::string& ref :
       {std::string("no-such-ref"), std::string(), std::string("../../etc/passwd")}) {
    Fetched fetched;
    source.fetch(ref, 0, "", fetched);
  }
  if (!packages.empty()) {
    for (const std::int64_t offset : {std::int64_t{-1}, std::int64_t{1} << 50U}) {
      Fetched fetched;
      source.fetch(packages.front().ref, offset, "no-such-validator", fetched);
    }
  }
  source.aim("//");
  source.catalog(packages);
}

}  // namespace

void provoke(const Context& context) {
  switch (bit_of(context.interface)) {
    case for_provider: return provoke_provider(context);
    case for_gateway: return provoke_gateway(context);
    default: return provoke_source(context);
  }
}

void call_each(const Context& context, const Within& within, const std::function<void(const Answer&)>& seen) {
  switch (bit_of(context.interface)) {
    case for_provider: {
      Provider provider(context);
      return each_of_provider(provider, context, within, seen);
    }
    case for_gateway: {
      GatewayClient gateway(context);
      return each_of_gateway(gateway, within, seen);
    }
    default: {
      SourceClient source(context);
      return each_of_source(source, within, seen);
    }
  }
}

void exercise(const Context& context, int times) {
  const auto ignore = [](const Answer&) {};
  for (int i = 0; i < times; ++i) {
    switch (bit_of(context.interface)) {
      case for_provider: {
        Provider provider(context);
        each_of_provider(provider, context, {}, ignore);
        provider.destroy();
        provider.deinit();
        break;
      }
      case for_gateway: {
        GatewayClient gateway(context);
        each_of_gateway(gateway, {}, ignore);
        gateway.destroy();
        gateway.deinit();
        break;
      }
      default: {
        SourceClient source(context);
        each_of_source(source, {}, ignore);
        source.destroy();
        source.deinit();
      }
    }
  }
}

}  // namespace rmgr::conform
