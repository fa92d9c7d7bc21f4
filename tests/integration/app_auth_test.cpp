// The whole agent as a GitHub App: jobs run, a key that is revoked shows, and comes back by itself.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "stage.hpp"
#include "support/everything.hpp"
#include "support/rsa_key.hpp"

namespace integration {
namespace {

namespace fs = std::filesystem;

class AppAuth : public ::testing::Test {
 protected:
  AppAuth() : key(testkit::make_rsa_key()), stage(1, [this](testkit::AgentSetup& setup) { use_app(setup); }) {
    stage.github()->change_settings({.token = "nobody-knows-this-one"});
    stage.github()->change_app({.id = 42,
                                .client_id = "Iv1.emulated",
                                .public_key = key.public_key,
                                .installations = {{11, "acme"}}});
  }
  void use_app(testkit::AgentSetup& setup) const {
    const std::string file = setup.directory + "/app.pem";
    std::ofstream(file) << key.pkcs1;
    fs::permissions(file, fs::perms(0600));
    setup.credential = R"(app: {client_id: Iv1.emulated, private_key: "file:)" + file + R"("})";
  }
  // What `status --json` says of the one target's credential and error.
  [[nodiscard]] std::pair<std::string, std::string> told() {
    const auto status = nlohmann::json::parse(stage.agent().status_json(), nullptr, false);
    if (!status.is_object() || status["targets"].size() != 1) return {};
    return {status["targets"][0]["credential"], status["targets"][0]["error"]};
  }
  [[nodiscard]] bool becomes(const std::string& state) {
    return eventually([&] { return told().first == state; }, std::chrono::seconds(90));
  }

  testkit::KeyPair key;
  Stage stage;
};

TEST_F(AppAuth, a_job_runs_and_a_revoked_key_shows_stays_quiet_and_recovers) {
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, "true");
  ASSERT_TRUE(stage.settles(1));
  EXPECT_EQ(told().first, "ready");

  stage.github()->change_app({.revoked = true, .expire_tokens = true});
  ASSERT_TRUE(becomes("rejected")) << stage.agent().status_json();
  EXPECT_THAT(told().second, ::testing::HasSubstr("make a new key"));
  const std::string words = testkit::run_program(
      {stage.setup().bin + "/runner-manager", "status", "--config", stage.agent().config_file()}, nullptr);
  EXPECT_THAT(words, ::testing::HasSubstr("target acme/widgets: the credential is rejected"));
  // The pace of looks is 200 ms; none of them asks.
  const auto before = stage.github()->requests().size();
  stage.queue(1, "true");
  std::this_thread::sleep_for(std::chrono::seconds(3));
  EXPECT_LE(stage.github()->requests().size() - before, 2U);
  EXPECT_EQ(stage.agent().policies().front().limited_by, "credential_rejected");

  stage.github()->change_app({.revoked = false});
  EXPECT_TRUE(becomes("ready")) << stage.agent().status_json();
  EXPECT_TRUE(stage.settles(2));
}

TEST_F(AppAuth, the_private_key_and_the_tokens_are_nowhere) {
  ASSERT_TRUE(stage.agent().start());
  stage.queue(2, "true");
  ASSERT_TRUE(stage.settles(2));
  std::string everything = stage.agent().status_json();
  stage.github()->change_app({.revoked = true, .expire_tokens = true});
  ASSERT_TRUE(becomes("rejected"));
  everything += stage.agent().status_json() + testkit::all_command_lines() +
                testkit::journal_dump(stage.agent().state() + "/journal.db");
  ASSERT_EQ(stage.agent().terminate(), 0);
  everything += testkit::contents(stage.agent().log_file()) + testkit::contents(stage.path("stderr.log"));
  EXPECT_NE(everything.find("attempt_granted"), std::string::npos);
  for (const std::string& root : {stage.agent().state(), stage.agent().runtimes()})
    everything += testkit::files_below(root);
  // Every line of the key, so that no part of it escapes; tokens and proofs by what they begin with.
  std::size_t lines = 0;
  std::istringstream pem(key.pkcs1);
  for (std::string line; std::getline(pem, line);) {
    if (line.starts_with("-----") || line.size() < 16) continue;
    ++lines;
    EXPECT_EQ(everything.find(line), std::string::npos) << "line " << lines;
  }
  EXPECT_GE(lines, 20U);
  EXPECT_EQ(everything.find("ghs_"), std::string::npos);
  EXPECT_EQ(everything.find("eyJhbGciOiJSUzI1NiI"), std::string::npos);
}

TEST_F(AppAuth, a_key_that_others_can_read_is_not_used) {
  fs::permissions(stage.path("app.pem"), fs::perms(0640));
  ASSERT_TRUE(stage.agent().start());
  ASSERT_TRUE(becomes("unreadable")) << stage.agent().status_json();
  EXPECT_THAT(told().second, ::testing::HasSubstr("chmod 600"));
  EXPECT_TRUE(stage.github()->requests().empty());
  fs::permissions(stage.path("app.pem"), fs::perms(0600));
  EXPECT_TRUE(becomes("ready"));
}

}  // namespace
}  // namespace integration
