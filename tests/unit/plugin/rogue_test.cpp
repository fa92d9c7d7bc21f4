// The facades over a plugin that breaks the rules.
#include "unit/plugin/fixture.hpp"

namespace {

using namespace fixture;
using domain::EnvironmentView;
using domain::ErrorCode;
using domain::InstanceName;
using plugin::ComponentKind;

class Rogue : public testing::Test {
 protected:
  InstanceName add(ComponentKind kind) {
    const auto added = host.add_instance(spec("rogue", kind));
    EXPECT_TRUE(added) << added.error().message;
    return InstanceName("rogue-1");
  }
  RecordingLog log;
  plugin::PluginHost host{options(), log};
  plugin::Call context{"call-1", std::chrono::steady_clock::now() + std::chrono::minutes(5)};
};

TEST_F(Rogue, BrokenAnswersAreDefects) {
  plugin::ExecutionProvider* provider = host.provider(add(ComponentKind::execution_provider));
  EXPECT_TRUE(provider->isolated());
  EXPECT_TRUE(provider->probe(context, policy("good")));
  const std::pair<const char*, const char*> cases[] = {
      {"silent", "without a readiness"},  {"unknown-status", "unknown status 4711"},
      {"readiness", "unknown readiness"}, {"not-utf8", "not UTF-8"},
      {"no-bytes", "text without bytes"}, {"short-struct", "without its size"},
      {"no-item", "without its size"},    {"large", "more than 65536 bytes"},
      {"many", "more than 10000 items"},
  };
  for (const auto& [act, message] : cases) {
    const auto answer = provider->probe(context, policy(act));
    ASSERT_FALSE(answer) << act;
    EXPECT_EQ(answer.error().code, ErrorCode::internal) << act;
    EXPECT_NE(answer.error().message.find(message), std::string::npos) << answer.error().message;
    EXPECT_NE(answer.error().message.find("rogue-1"), std::string::npos) << answer.error().message;
  }
}

TEST_F(Rogue, AnImageThatIsNotOneAndPinnedIsADefect) {
  plugin::ExecutionProvider* provider = host.provider(add(ComponentKind::execution_provider));
  EXPECT_TRUE(provider->resolve(context, policy("good")));
  const std::pair<const char*, const char*> cases[] = {{"silent", "without an image that is pinned"},
                                                       {"tag", "without an image that is pinned"},
                                                       {"twice", "more than one image"},
                                                       {"large", "an image of unusable size"}};
  for (const auto& [act, message] : cases) {
    const auto answer = provider->resolve(context, policy(act));
    ASSERT_FALSE(answer) << act;
    EXPECT_NE(answer.error().message.find(message), std::string::npos) << answer.error().message;
  }
}

TEST_F(Rogue, ReasonsAreCleanedAndBounded) {
  plugin::ExecutionProvider* provider = host.provider(add(ComponentKind::execution_provider));
  const auto none = provider->probe(context, policy("no-reason"));
  EXPECT_EQ(none.error().code, ErrorCode::denied);
  EXPECT_NE(none.error().message.find("did not say why"), std::string::npos);
  const auto odd = provider->probe(context, policy("odd-reason"));
  EXPECT_EQ(odd.error().code, ErrorCode::retry);
  EXPECT_EQ(odd.error().message, "first? line?? end");
  EXPECT_EQ(odd.error().retry_after, domain::Millis{0});
  const auto long_reason = provider->probe(context, policy("long-reason"));
  EXPECT_EQ(long_reason.error().message.size(), 2000U);
  EXPECT_EQ(long_reason.error().retry_after, std::chrono::hours(24));
}

TEST_F(Rogue, WhatACallKeptIsDeadAfterwards) {
  plugin::ExecutionProvider* provider = host.provider(add(ComponentKind::execution_provider));
  const domain::Attempt one = attempt("late");
  const plugin::Allocation allocation{&one, domain::InstallationId("host"), "/package"};
  EXPECT_EQ((*provider->prepare(context, allocation))->str(), "first");
  EXPECT_EQ((*provider->prepare(context, allocation))->str(), "dropped");
  EXPECT_EQ((*provider->prepare(context, allocation))->str(), "dropped");
}

TEST_F(Rogue, AStartThatSaysNothingCountsAsTheWorst) {
  plugin::ExecutionProvider* provider = host.provider(add(ComponentKind::execution_provider));
  domain::Attempt one = attempt("anything");
  const plugin::Allocation allocation{&one, domain::InstallationId("host"), "/package"};
  EXPECT_TRUE(provider->start(context, allocation, "jit")->process_existed);
  one.policy.name = domain::PolicyName("nothing-started");
  EXPECT_FALSE(provider->start(context, allocation, "jit")->process_existed);
  EXPECT_EQ(provider->hold(context, allocation).error().code, ErrorCode::unsupported);
}

TEST_F(Rogue, AnExitIsCleanOnlyIfEverythingAgrees) {
  plugin::ExecutionProvider* provider = host.provider(add(ComponentKind::execution_provider));
  domain::Attempt one = attempt("signal");
  const plugin::Allocation allocation{&one, domain::InstallationId("host"), "/package"};
  const auto look = [&](const char* act) {
    one.policy.name = domain::PolicyName(act);
    return provider->inspect(context, allocation);
  };
  const auto by_signal = look("signal");
  EXPECT_EQ(by_signal->view, EnvironmentView::exited);
  EXPECT_FALSE(by_signal->clean);
  EXPECT_FALSE(by_signal->exit_code);
  EXPECT_TRUE(by_signal->out_of_memory);
  EXPECT_EQ(look("code")->exit_code, 3);
  EXPECT_FALSE(look("code")->clean);
  EXPECT_EQ(look("clean")->exit_code, 0);
  EXPECT_TRUE(look("clean")->clean);
  EXPECT_EQ(look("nothing").error().code, ErrorCode::internal);
}

TEST_F(Rogue, BrokenGatewayAnswersAreDefects) {
  plugin::Gateway* gateway = host.gateway(add(ComponentKind::gateway));
  const auto target = [](const char* text) { return *domain::Target::parse(text); };
  EXPECT_EQ(gateway->demand(context, target("good/good"))->quota_left_percent, 100);
  EXPECT_EQ(gateway->demand(context, target("job/status")).error().code, ErrorCode::internal);
  EXPECT_EQ(gateway->demand(context, target("job/labels")).error().code, ErrorCode::internal);
  EXPECT_EQ(gateway->inventory(context, target("o/r")).error().code, ErrorCode::internal);
  const auto ask = [&](const char* text) {
    return gateway->register_runner(context, target(text), "n", 1, {}, "_work");
  };
  EXPECT_EQ(ask("good/good")->jit_config, "secret-of-the-rogue");
  EXPECT_EQ(ask("then/failed").error().code, ErrorCode::unreachable);
  for (const char* act : {"none/none", "id/zero", "empty/secret", "twice/twice"}) {
    const auto answer = ask(act);
    ASSERT_FALSE(answer) << act;
    EXPECT_EQ(answer.error().code, ErrorCode::internal) << act;
    EXPECT_EQ(answer.error().message.find("secret-of"), std::string::npos);
  }
  EXPECT_EQ(gateway->deregister(context, target("o/r"), domain::RunnerId(1)).error().code, ErrorCode::busy);
}

TEST_F(Rogue, BrokenStreamsAreDefects) {
  plugin::PackageSource* source = host.package_source(add(ComponentKind::package_source));
  EXPECT_EQ(source->catalog(context, "o/r", "linux", "x64").error().code, ErrorCode::internal);
  int chunks = 0;
  const plugin::PackageSource::Receiver receiver{
      [](std::int64_t, std::string_view, bool) -> domain::Result<void> { return {}; },
      [&](std::string_view) -> domain::Result<void> {
        if (++chunks >= 2) return domain::Error{ErrorCode::cancelled, "enough", {}};
        return {};
      }};
  for (const char* act : {"early", "twice", "large"})
    EXPECT_EQ(source->fetch(context, act, 0, "", receiver).error().code, ErrorCode::internal) << act;
  EXPECT_EQ(source->fetch(context, "goes-on", 0, "", receiver).error().code, ErrorCode::cancelled);
  EXPECT_EQ(chunks, 2);  // a receiver that refused hears nothing more
}

}  // namespace
