#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/engine/client.hpp"
#include "support/engine/json.hpp"
#include "unit/plugin_github/fakes.hpp"
#include "unit/support_engine/scripted_engine.hpp"

namespace plugins::engine {
namespace {

using plugin_test::error_of;
using plugin_test::FakeCall;
using rmgr::Status;
using scripted::Asked;
using scripted::Engine;
using scripted::Line;
using scripted::raw;
using scripted::reply;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* running =
    R"({"Id":"c1","Name":"/rm-a","Image":"sha256:1","Config":{"Labels":{"k":"v"}},"State":{"Status":"running"}})";

class EngineClient : public ::testing::Test {
 protected:
  Client client() { return Client({*parse_address(engine_.address()), std::nullopt}); }
  rmgr::Error inspecting(scripted::Answer answer) {
    engine_.on("GET /containers/c1/json", {std::move(answer)});
    Client asking = client();
    return error_of([&] { asking.inspect_container(call_.call(), "c1"); });
  }
  Engine engine_;
  FakeCall call_;
};

TEST(EngineAddress, IsReadInEachFormAndNothingElse) {
  EXPECT_EQ(parse_address("unix:///run/podman/podman.sock")->path, "/run/podman/podman.sock");
  EXPECT_EQ(parse_address("tcp://engine:2376")->port, 2376);
  EXPECT_EQ(parse_address("tcp://[::1]:2376/")->host, "::1");
  EXPECT_EQ(parse_address("tcp://[::1]:2376")->text(), "tcp://[::1]:2376");
  EXPECT_EQ(parse_address("npipe:////./pipe/docker_engine")->kind, Address::Kind::named_pipe);
  EXPECT_TRUE(parse_address("tcp://127.0.0.1:1")->loopback());
  EXPECT_FALSE(parse_address("tcp://10.0.0.1:1")->loopback());
  for (const char* wrong :
       {"", "unix://", "unix://relative", "tcp://host", "tcp://host:0", "tcp://host:99999",
        "tcp://u:p@host:1", "http://host:1", "/run/docker.sock", "npipe://x", "tcp://:1",
        "unix:///with space", "tcp://host:1x", "tcp://ho/st:1"}) {
    EXPECT_FALSE(parse_address(wrong)) << wrong;
  }
  EXPECT_FALSE(parse_address("unix:///" + std::string(200, 'x')));
}

TEST_F(EngineClient, NegotiatesTheVersionOnceAndAgainAfterTheEngineWasAway) {
  engine_.on("GET /containers/c1/json", {reply(200, running), raw(""), reply(200, running)});
  Client asking = client();
  EXPECT_EQ(asking.inspect_container(call_.call(), "c1")->status, ContainerStatus::running);
  EXPECT_EQ(error_of([&] { asking.inspect_container(call_.call(), "c1"); }).status(), Status::unreachable);
  EXPECT_EQ(asking.inspect_container(call_.call(), "c1")->id, "c1");
  EXPECT_THAT(engine_.lines(), ElementsAre("GET /_ping", "GET /containers/c1/json", "GET /containers/c1/json",
                                           "GET /_ping", "GET /containers/c1/json"));
  EXPECT_THAT(engine_.asked()[1].head, HasSubstr("GET /v1.41/containers/c1/json HTTP/1.1\r\n"));
}

TEST_F(EngineClient, RefusesAnEngineThatSharesNoVersion) {
  const auto speaks = [&](const std::string& newest, const std::string& oldest) {
    engine_.on("GET /_ping", {reply(200, "OK", "Api-Version: " + newest + "\r\n")});
    engine_.on("GET /version",
               {reply(200, R"({"ApiVersion":")" + newest + R"(","MinAPIVersion":")" + oldest + R"("})")});
    return inspecting(reply(200, running)).status();
  };
  EXPECT_EQ(speaks("1.12", "1.10"), Status::unsupported);
  EXPECT_EQ(speaks("1.99", "1.90"), Status::unsupported);
  EXPECT_EQ(speaks("2.0", "2.0"), Status::unsupported);
  EXPECT_EQ(speaks("1.99", "1.44"), Status::ok);
  EXPECT_THAT(engine_.asked().back().head, HasSubstr("GET /v1.47/"));
  engine_.on("GET /_ping", {reply(200, "OK")});
  engine_.on("GET /version", {reply(200, R"({"ApiVersion":"1.40"})")});
  EXPECT_EQ(inspecting(reply(200, running)).status(), Status::ok);
  EXPECT_THAT(engine_.asked().back().head, HasSubstr("GET /v1.40/"));
}

TEST_F(EngineClient, KnowsPodmanByItsHeaderAndAsksWhatItIsOnce) {
  Client asking = client();
  EXPECT_EQ(asking.ping(call_.call()).product, "docker");
  engine_.on("GET /_ping", {reply(200, "OK", "Api-Version: 1.41\r\nLibpod-Api-Version: 4.3.1\r\n")});
  EXPECT_EQ(asking.ping(call_.call()).product, "podman");
  engine_.on("GET /info", {reply(200, R"({"Driver":"overlay","OSType":"linux"})")});
  EXPECT_EQ(asking.info(call_.call()).driver, "overlay");
  EXPECT_EQ(asking.version(call_.call()).architecture, "amd64");
  const std::size_t before = engine_.asked().size();
  asking.info(call_.call());
  asking.version(call_.call());
  EXPECT_EQ(engine_.asked().size(), before);
  engine_.on("GET /_ping", {raw("")});
  EXPECT_EQ(error_of([&] { asking.ping(call_.call()); }).status(), Status::unreachable);
  engine_.on("GET /_ping", {reply(200, "OK", "Api-Version: 1.41\r\n")});
  asking.info(call_.call());
  EXPECT_EQ(engine_.lines().back(), "GET /info");
}

TEST_F(EngineClient, TellsWhyNobodyAnswers) {
  const auto why = [&](const std::string& address) {
    Client asking({*parse_address(address), std::nullopt});
    try {
      asking.version(call_.call());
    } catch (const NoConnection& nobody) {
      return nobody.why();
    }
    ADD_FAILURE() << "it answered";
    return NoConnection::Why::silent;
  };
  testkit::TemporaryDirectory directory;
  EXPECT_EQ(why("unix://" + directory.path() + "/nobody"), NoConnection::Why::absent);
  std::ofstream(directory.path() + "/file") << "x";
  EXPECT_EQ(why("unix://" + directory.path() + "/file"), NoConnection::Why::silent);
  EXPECT_EQ(why("tcp://127.0.0.1:1"), NoConnection::Why::silent);
}

TEST_F(EngineClient, OnlyANotFoundIsAnAbsence) {
  engine_.on("GET /containers/c1/json", {reply(404, R"({"message":"No such container: c1"})")});
  Client asking = client();
  EXPECT_FALSE(asking.inspect_container(call_.call(), "c1"));
  for (const auto& [status, expected] : {std::pair{400, Status::invalid},
                                         {401, Status::unauthorized},
                                         {403, Status::denied},
                                         {409, Status::exists},
                                         {500, Status::retry},
                                         {503, Status::retry},
                                         {418, Status::bad_response},
                                         {302, Status::bad_response}}) {
    EXPECT_EQ(inspecting(reply(status, R"({"message":"no"})")).status(), expected) << status;
  }
}

TEST_F(EngineClient, AnswersThatBreakOffAreNoAnswers) {
  EXPECT_EQ(inspecting(raw("")).status(), Status::unreachable);
  EXPECT_EQ(inspecting(raw("HTTP/1.1 200 OK\r\nContent-Le")).status(), Status::unreachable);
  EXPECT_EQ(inspecting(raw("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"Id\"")).status(),
            Status::unreachable);
  EXPECT_EQ(inspecting(raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"Id\"\r\n")).status(),
            Status::unreachable);
}

TEST_F(EngineClient, NonsenseIsNoAnswer) {
  EXPECT_EQ(inspecting(raw("what do you want\r\n\r\n")).status(), Status::bad_response);
  EXPECT_EQ(inspecting(raw(std::string("\0\1\2\3\r\n\r\n", 8))).status(), Status::bad_response);
  EXPECT_EQ(
      inspecting(raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n")).status(),
      Status::bad_response);
  for (const char* body :
       {"", "null", "[]", "{", "{}", R"({"Id":5})", R"({"Id":"c1","Config":{},"State":{}})",
        R"({"Id":"c1","Config":{},"State":{"Status":"levitating"}})",
        R"({"Id":"c1","Config":{"Labels":[]},"State":{"Status":"running"}})",
        R"({"Id":"","Config":{},"State":{"Status":"running"}})"}) {
    EXPECT_EQ(inspecting(reply(200, body)).status(), Status::bad_response) << body;
  }
}

TEST_F(EngineClient, BoundsWhatItReads) {
  const std::string much(most_body + 1, ' ');
  EXPECT_EQ(inspecting(reply(200, much)).status(), Status::bad_response);
  EXPECT_EQ(inspecting(raw("HTTP/1.1 200 OK\r\n\r\n" + much)).status(), Status::bad_response);
  EXPECT_EQ(inspecting(raw("HTTP/1.1 200 OK\r\nX: " + std::string(most_header, 'x') + "\r\n\r\n")).status(),
            Status::bad_response);
  EXPECT_EQ(inspecting(raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=" +
                           std::string(std::size_t{1} << 20, 'x')))
                .status(),
            Status::bad_response);
}

TEST_F(EngineClient, ReadsChunksAtEveryBoundary) {
  const std::string body(running);
  std::string text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  text += "7;name=value\r\n" + body.substr(0, 7) + "\r\n";
  std::array<char, 16> size{};
  std::snprintf(size.data(), size.size(), "%zX", body.size() - 7);
  text += std::string(size.data()) + "\r\n" + body.substr(7) + "\r\n0\r\nTrailer: x\r\n\r\n";
  engine_.on("GET /containers/c1/json", {[text](const Asked&, const Line& line) { line.trickle(text); }});
  Client asking = client();
  const auto seen = asking.inspect_container(call_.call(), "c1");
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->name, "rm-a");
  EXPECT_EQ(seen->labels.at("k"), "v");
}

TEST_F(EngineClient, ReadsABodyThatEndsWithTheConnection) {
  engine_.on("GET /containers/c1/json", {raw(std::string("HTTP/1.1 200 OK\r\n\r\n") + running)});
  Client asking = client();
  EXPECT_TRUE(asking.inspect_container(call_.call(), "c1"));
}

TEST_F(EngineClient, EndsAtOnceWhenItIsCancelledOrItsTimeIsOver) {
  const auto silent = [](const Asked&, const Line& line) { (void)line.hear_all(); };
  engine_.on("GET /containers/c1/json", {silent});
  Client asking = client();
  FakeCall cancelled;
  std::thread canceller([&] {
    for (int i = 0; i < 1000 && engine_.asked().size() < 2; ++i)
      std::this_thread::sleep_for(milliseconds(5));
    cancelled.cancel();
  });
  EXPECT_EQ(error_of([&] { asking.inspect_container(cancelled.call(), "c1"); }).status(), Status::cancelled);
  canceller.join();
  EXPECT_EQ(cancelled.hooks(), 0U);
  FakeCall brief(milliseconds(100));
  EXPECT_EQ(error_of([&] { asking.inspect_container(brief.call(), "c1"); }).status(), Status::deadline);
}

TEST_F(EngineClient, WhatTheEngineSaysIsBoundedAndWithoutCredentials) {
  const auto error = inspecting(reply(
      500, R"({"message":"get https://user:secret@registry.test/v2/?token=hidden \u0007 failed\nhard"})"));
  const std::string text = error.what();
  EXPECT_THAT(text, Not(HasSubstr("secret")));
  EXPECT_THAT(text, Not(HasSubstr("hidden")));
  EXPECT_THAT(text, Not(HasSubstr("\n")));
  EXPECT_THAT(text, HasSubstr("registry.test"));
  EXPECT_LT(std::string(inspecting(reply(500, std::string(100'000, 'x'))).what()).size(), 500U);
  EXPECT_EQ(presentable("https://a@b@c/x and ftp://u:p@d"), "https://c/x and ftp://d");
}

TEST_F(EngineClient, StopAndRemoveAreWellWithoutAContainer) {
  Client asking = client();
  asking.stop_container(call_.call(), "c1", 3);
  asking.signal_container(call_.call(), "c1", "SIGKILL");
  asking.remove_container(call_.call(), "c1");
  EXPECT_TRUE(asking.wait_container(call_.call(), "c1", milliseconds(60'000)));
  asking.remove_network(call_.call(), "n1");
  EXPECT_THAT(engine_.lines(), ElementsAre("GET /_ping", "POST /containers/c1/stop?t=3",
                                           "POST /containers/c1/kill?signal=SIGKILL",
                                           "DELETE /containers/c1?force=true&v=true",
                                           "POST /containers/c1/wait", "DELETE /networks/n1"));
  engine_.on("DELETE /containers/c1", {reply(409, R"({"message":"removal is already in progress"})")});
  EXPECT_EQ(error_of([&] { asking.remove_container(call_.call(), "c1"); }).status(), Status::exists);
}

TEST_F(EngineClient, WaitsForAContainerWithinItsLimit) {
  engine_.on("POST /containers/c1/wait", {[](const Asked&, const Line& line) { (void)line.hear_all(); }});
  Client asking = client();
  EXPECT_FALSE(asking.wait_container(call_.call(), "c1", milliseconds(50)));
  FakeCall brief(milliseconds(50));
  EXPECT_EQ(error_of([&] { asking.wait_container(brief.call(), "c1", milliseconds(60'000)); }).status(),
            Status::deadline);
  engine_.on("POST /containers/c1/wait", {reply(200, R"({"StatusCode":3,"Error":null})")});
  EXPECT_TRUE(asking.wait_container(call_.call(), "c1", milliseconds(60'000)));
}

TEST_F(EngineClient, AttachesWithEitherAnswerAndSendsOneLine) {
  for (const char* head : {"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n",
                           "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream\r\n\r\n"}) {
    for (const bool together : {true, false}) {
      std::string heard;
      std::mutex mutex;
      engine_.on("POST /containers/c1/attach", {[&, head, together](const Asked&, const Line& line) {
                   line.say(head + std::string(together ? "early " : ""));
                   const std::string all = line.hear_all();
                   const std::lock_guard lock(mutex);
                   heard = all;
                   line.say("\1taken\n");
                 }});
      Client asking = client();
      Attached attached = asking.attach(call_.call(), "c1");
      attached.write("one ", call_.call());
      attached.write("line\n", call_.call());
      attached.finish_writing(call_.call());
      EXPECT_TRUE(attached.await("taken", call_.call())) << head;
      EXPECT_FALSE(attached.await("never", call_.call()));
      const std::lock_guard lock(mutex);
      EXPECT_EQ(heard, "one line\n");
    }
  }
  engine_.on("POST /containers/c1/attach", {reply(409, R"({"message":"container is paused"})")});
  Client asking = client();
  EXPECT_EQ(error_of([&] { (void)asking.attach(call_.call(), "c1"); }).status(), Status::exists);
}

TEST_F(EngineClient, BoundsWhatAContainerSays) {
  engine_.on("POST /containers/c1/attach", {[](const Asked&, const Line& line) {
               line.say("HTTP/1.1 101 UPGRADED\r\n\r\n" + std::string(std::size_t{1} << 20, 'x') + "taken");
             }});
  Client asking = client();
  Attached attached = asking.attach(call_.call(), "c1");
  EXPECT_FALSE(attached.await("taken", call_.call()));
}

TEST_F(EngineClient, TellsTheReasonsOfAFailedPullApart) {
  const auto pulling = [&](scripted::Answer answer) {
    engine_.on("POST /images/create", {std::move(answer)});
    Client asking = client();
    return error_of([&] { asking.pull_image(call_.call(), "registry.test:5000/a/b:1", "Y3JlZA=="); });
  };
  const auto line = [](const std::string& reason) {
    return reply(200, "{\"status\":\"Pulling\"}\r\n{\"error\":\"" + reason + "\"}\r\n");
  };
  EXPECT_EQ(pulling(reply(200, "{\"status\":\"Pulling\"}\n{\"status\":\"Done\"}\n")).status(), Status::ok);
  EXPECT_EQ(engine_.lines().back(), "POST /images/create?fromImage=registry.test%3A5000%2Fa%2Fb&tag=1");
  EXPECT_THAT(engine_.asked().back().head, HasSubstr("X-Registry-Auth: Y3JlZA==\r\n"));
  EXPECT_EQ(pulling(line("unauthorized: authentication required")).status(), Status::unauthorized);
  EXPECT_EQ(
      pulling(reply(404, R"({"message":"pull access denied for a/b, repository does not exist"})")).status(),
      Status::unauthorized);
  EXPECT_EQ(pulling(reply(500, R"({"message":"manifest for a/b:1 not found: manifest unknown"})")).status(),
            Status::not_found);
  EXPECT_EQ(pulling(line("no matching manifest for linux/amd64 in the manifest list entries")).status(),
            Status::unsupported);
  EXPECT_EQ(pulling(line("dial tcp 127.0.0.1:5000: connect: connection refused")).status(),
            Status::unreachable);
  EXPECT_EQ(pulling(line("write /var/lib: no space left on device")).status(), Status::retry);
}

TEST_F(EngineClient, StreamsAnArchive) {
  testkit::TemporaryDirectory directory;
  std::filesystem::create_directories(directory.path() + "/bin");
  std::ofstream(directory.path() + "/bin/tool") << std::string(700, 't');
  engine_.on("PUT /containers/c1/archive", {reply(200, "")});
  Client asking = client();
  asking.put_archive(call_.call(), "c1", "/", [&](const Emit& emit) {
    emit("part one, ");
    emit("");
    emit(std::string(100'000, 'x'));
  });
  EXPECT_EQ(engine_.asked().back().body, "part one, " + std::string(100'000, 'x'));
  EXPECT_EQ(engine_.lines().back(), "PUT /containers/c1/archive?path=%2F");
}

TEST_F(EngineClient, ReadsTheRefusalOfAnArchive) {
  engine_.on("PUT /containers/c1/archive", {reply(404, R"({"message":"No such container: c1"})")});
  Client asking = client();
  const auto error = error_of([&] {
    asking.put_archive(call_.call(), "c1", "/", [&](const Emit& emit) { emit(std::string(1000, 'x')); });
  });
  EXPECT_EQ(error.status(), Status::not_found);
}

TEST_F(EngineClient, WorksOverTcpToo) {
  Engine tcp(Engine::Over::tcp);
  tcp.on("GET /containers/c1/json", {reply(200, running)});
  Client asking({*parse_address(tcp.address()), std::nullopt});
  EXPECT_TRUE(asking.inspect_container(call_.call(), "c1"));
}

}  // namespace
}  // namespace plugins::engine
