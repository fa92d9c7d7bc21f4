// The three facades over a correct plugin.
#include <future>

#include "unit/plugin/fixture.hpp"

namespace {

using namespace fixture;
using domain::EnvironmentView;
using domain::ErrorCode;
using domain::InstanceName;
using plugin::ComponentKind;
using plugin::PluginHost;

class Sample : public testing::Test {
 protected:
  InstanceName add(ComponentKind kind, const std::string& config = "{}") {
    EXPECT_TRUE(host.add_instance(spec("sample", kind, config)));
    return InstanceName("sample-1");
  }
  RecordingLog log;
  PluginHost host{options(), log};
  plugin::Call context{"call-1", std::chrono::steady_clock::now() + std::chrono::minutes(5)};
};

TEST_F(Sample, AProviderLivesThroughAnAttempt) {
  plugin::ExecutionProvider* provider =
      host.provider(add(ComponentKind::execution_provider, R"({"greeting":"hello"})"));
  ASSERT_NE(provider, nullptr);
  EXPECT_TRUE(provider->holds());
  EXPECT_FALSE(provider->isolated());
  const auto probe = provider->probe(context, policy("p"));
  ASSERT_TRUE(probe);
  EXPECT_EQ(probe->readiness, plugin::Readiness::ready);
  EXPECT_EQ(probe->note, R"({"greeting":"hello","level":1})");
  EXPECT_EQ(provider->probe(context, policy("p", "image"))->readiness, plugin::Readiness::image_unavailable);

  domain::Attempt one = attempt();
  const plugin::Allocation allocation{&one, domain::InstallationId("host"), "/package"};
  EXPECT_EQ(provider->inspect(context, allocation)->view, EnvironmentView::missing);
  EXPECT_EQ(provider->hold(context, allocation).error().code, ErrorCode::not_found);
  const auto prepared = provider->prepare(context, allocation);
  ASSERT_TRUE(prepared && prepared->has_value());
  EXPECT_EQ((*prepared)->str(), "sample-" + one.id.str());
  one.environment = **prepared;
  EXPECT_EQ(provider->inspect(context, allocation)->view, EnvironmentView::prepared);
  const auto early = provider->start(context, allocation, "jit");
  ASSERT_TRUE(early);
  EXPECT_EQ(early->error.code, ErrorCode::invalid);
  EXPECT_FALSE(early->process_existed);
  const auto held = provider->hold(context, allocation);
  ASSERT_TRUE(held);
  EXPECT_EQ(held->pid, 1000);
  EXPECT_EQ(held->boot_id.str(), "sample-boot");
  one.process = *held;
  EXPECT_FALSE(provider->start(context, allocation, "jit"));
  EXPECT_EQ(provider->inspect(context, allocation)->view, EnvironmentView::running);
  EXPECT_TRUE(provider->stop(context, allocation, domain::Millis{10}));
  EXPECT_EQ(provider->inspect(context, allocation)->view, EnvironmentView::exited);
  EXPECT_TRUE(provider->remove(context, allocation));
  EXPECT_TRUE(provider->remove(context, allocation));
  EXPECT_EQ(provider->inspect(context, allocation)->view, EnvironmentView::missing);
}

TEST_F(Sample, AGatewayRegistersOnce) {
  plugin::Gateway* gateway = host.gateway(add(ComponentKind::gateway));
  ASSERT_NE(gateway, nullptr);
  const auto target = *domain::Target::parse("owner/repository");
  const auto demand = gateway->demand(context, target);
  ASSERT_TRUE(demand);
  ASSERT_EQ(demand->jobs.size(), 1U);
  EXPECT_TRUE(demand->jobs[0].queued);
  EXPECT_EQ(demand->jobs[0].id.get(), 41);
  EXPECT_EQ(demand->jobs[0].repository, "owner/repository");
  EXPECT_EQ(demand->jobs[0].labels, (std::vector<std::string>{"self-hosted", "linux"}));
  EXPECT_EQ(demand->quota_left_percent, 99);
  const auto registered = gateway->register_runner(context, target, "runner-1", 1, {"linux"}, "_work");
  ASSERT_TRUE(registered);
  EXPECT_EQ(registered->jit_config, "sample-jit-configuration");
  EXPECT_EQ(gateway->register_runner(context, target, "runner-1", 1, {}, "_work").error().code,
            ErrorCode::exists);
  const auto runners = gateway->inventory(context, target);
  ASSERT_TRUE(runners);
  ASSERT_EQ(runners->size(), 1U);
  EXPECT_EQ((*runners)[0].id, registered->runner);
  EXPECT_EQ((*runners)[0].name, "runner-1");
  EXPECT_TRUE(gateway->deregister(context, target, registered->runner));
  EXPECT_TRUE(gateway->inventory(context, target)->empty());
}

TEST_F(Sample, APackageSourceStreams) {
  plugin::PackageSource* source = host.package_source(add(ComponentKind::package_source));
  ASSERT_NE(source, nullptr);
  const auto offers = source->catalog(context, "o/r", "linux", "x64");
  ASSERT_TRUE(offers);
  ASSERT_EQ(offers->size(), 1U);
  EXPECT_EQ((*offers)[0].version, "2.300.0");
  EXPECT_TRUE(source->catalog(context, "o/r", "win", "x64")->empty());
  std::string bytes;
  std::int64_t total = 0;
  plugin::PackageSource::Receiver receiver{
      [&](std::int64_t size, std::string_view validator, bool restarted) -> domain::Result<void> {
        total = size;
        EXPECT_EQ(validator, "v1");
        EXPECT_FALSE(restarted);
        return {};
      },
      [&](std::string_view part) -> domain::Result<void> {
        bytes += part;
        return {};
      }};
  EXPECT_TRUE(source->fetch(context, (*offers)[0].ref, 7, "v1", receiver));
  EXPECT_EQ(bytes, "package bytes");
  EXPECT_EQ(total, (*offers)[0].size);
  EXPECT_EQ(source->fetch(context, "other", 0, "", receiver).error().code, ErrorCode::not_found);
  // What the receiver refuses is the answer, with the receiver's own code.
  receiver.chunk = [](std::string_view) -> domain::Result<void> {
    return domain::Error{ErrorCode::full, "The disk is full.", {}};
  };
  const auto refused = source->fetch(context, "sample", 0, "", receiver);
  EXPECT_EQ(refused.error().code, ErrorCode::full);
  EXPECT_EQ(refused.error().message, "The disk is full.");
}

TEST_F(Sample, CallsRunInLanesToo) {
  const InstanceName name = add(ComponentKind::gateway);
  plugin::Gateway* gateway = host.gateway(name);
  std::promise<std::size_t> jobs;
  host.ordinary_lane(name)->submit<plugin::Demand>(
      "c", domain::Millis{60'000},
      [gateway](plugin::Call& call) { return gateway->demand(call, *domain::Target::parse("o/r")); },
      [&](domain::Result<plugin::Demand> demand) { jobs.set_value(demand ? demand->jobs.size() : 0); });
  EXPECT_EQ(jobs.get_future().get(), 1U);
}

TEST_F(Sample, ACancelledCallSaysSo) {
  plugin::ExecutionProvider* provider = host.provider(add(ComponentKind::execution_provider));
  context.cancel();
  EXPECT_EQ(provider->probe(context, policy("p")).error().code, ErrorCode::cancelled);
  plugin::Call late("late", std::chrono::steady_clock::now());
  EXPECT_EQ(provider->probe(late, policy("p")).error().code, ErrorCode::deadline);
}

}  // namespace
