// The HTTP client against a scripted server: what a caller sees of every way in which an exchange can end.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <thread>
#include <variant>

#include "github/session.hpp"
#include "support/http/client.hpp"
#include "unit/plugin_github/fakes.hpp"
#include "unit/plugin_github/server.hpp"

namespace plugins::http {
namespace {

using namespace std::chrono_literals;
using plugin_test::FakeCall;
using plugin_test::json;
using plugin_test::Reply;
using plugin_test::Server;
using Manner = Reply::Manner;

Options options() {
  Options result;
  result.user_agent = "test";
  result.connect_timeout = 5s;
  return result;
}

Request get(const std::string& url) {
  Request request;
  request.url = url;
  return request;
}

class HttpClient : public testing::Test {
 protected:
  Outcome perform(Request request) {
    github::CallCaller caller(call.call());
    return client.perform(std::move(request), caller);
  }
  static Failure::Kind kind(const Outcome& outcome) { return std::get<Failure>(outcome).kind; }

  Server server;
  Client client{options()};
  FakeCall call;
};

TEST_F(HttpClient, ExchangesAndKeepsTheConnection) {
  server.on("GET /a", {json("{}", 200, {{"X-One", "1"}})});
  server.on("POST /b", {json("[]", 201)});
  server.on("DELETE /c", {{204}});
  auto first = std::get<Response>(perform(get(server.url() + "/a")));
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.body, "{}");
  EXPECT_EQ(first.header("x-one"), "1");
  EXPECT_FALSE(first.header("x-two"));
  auto post = get(server.url() + "/b");
  post.method = Method::post;
  post.body = "hello";
  post.authorization = Secret("Bearer abc");
  post.headers = {{"X-Extra", "yes"}};
  EXPECT_EQ(std::get<Response>(perform(std::move(post))).status, 201);
  auto del = get(server.url() + "/c");
  del.method = Method::del;
  EXPECT_EQ(std::get<Response>(perform(std::move(del))).status, 204);
  const auto seen = server.seen();
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[1].body, "hello");
  EXPECT_EQ(seen[1].header("authorization"), "Bearer abc");
  EXPECT_EQ(seen[1].header("x-extra"), "yes");
  EXPECT_EQ(seen[1].header("user-agent"), "test");
  EXPECT_EQ(seen[2].header("authorization"), "");
  EXPECT_EQ(server.connections(), 1U);
  EXPECT_EQ(call.hooks(), 0U);
}

TEST_F(HttpClient, EveryBrokenExchangeHasItsKind) {
  const std::string big = "{\"a\":\"" + std::string(1000, 'x') + "\"}";
  server.on("GET /drop", {{200, {}, "", Manner::drop}});
  server.on("GET /half", {{200, {}, big, Manner::drop_body}});
  server.on("GET /stall", {{200, {{"X-GitHub-Request-Id", "AB:1"}}, big, Manner::stall_body}});
  server.on("GET /hold", {{200, {}, "", Manner::hold}});
  server.on("GET /raw", {{200, {}, "SSH-2.0-OpenSSH\r\n\r\n", Manner::raw}});
  server.on("GET /big", {json(big)});
  server.on(
      "GET /heads",
      {{200,
        {{"X", std::string(90'000, 'x')}, {"Y", std::string(90'000, 'x')}, {"Z", std::string(90'000, 'x')}},
        "{}"}});
  const std::tuple<const char*, Failure::Kind> cases[] = {
      {"/drop", Failure::Kind::unreachable}, {"/half", Failure::Kind::broken},
      {"/stall", Failure::Kind::stalled},    {"/hold", Failure::Kind::unreachable},
      {"/raw", Failure::Kind::broken},       {"/heads", Failure::Kind::too_large},
      {"/big", Failure::Kind::too_large},
  };
  for (const auto& [path, expected] : cases) {
    auto request = get(server.url() + path);
    const bool silent = expected == Failure::Kind::stalled || std::string_view(path) == "/hold";
    request.stall_timeout = silent ? 2s : 30s;
    request.max_body = 900;
    const auto outcome = perform(std::move(request));
    ASSERT_TRUE(std::holds_alternative<Failure>(outcome)) << path;
    EXPECT_EQ(kind(outcome), expected) << path << ": " << std::get<Failure>(outcome).message;
    EXPECT_EQ(std::get<Failure>(outcome).message.find(path), std::string::npos);
  }
}

TEST_F(HttpClient, AFailureKeepsTheHeadersThatCame) {
  server.on("GET /stall",
            {{200, {{"X-GitHub-Request-Id", "AB:1"}}, std::string(100, 'x'), Manner::stall_body}});
  auto request = get(server.url() + "/stall");
  request.stall_timeout = 2s;
  const auto outcome = perform(std::move(request));
  EXPECT_EQ(github::request_id_of(std::get<Failure>(outcome).headers), "AB:1");
}

TEST_F(HttpClient, NobodyListens) {
  std::string url;
  {
    const Server gone;
    url = gone.url();
  }
  EXPECT_EQ(kind(perform(get(url))), Failure::Kind::unreachable);
}

TEST_F(HttpClient, RefusesBeforeItSends) {
  for (const char* url : {"", "file:///etc/passwd", "gopher://h/", "http://u:p@127.0.0.1/", "nonsense"}) {
    EXPECT_EQ(kind(perform(get(url))), Failure::Kind::refused) << url;
  }
  auto injected = get(server.url());
  injected.headers = {{"X", "a\r\nY: b"}};
  EXPECT_EQ(kind(perform(std::move(injected))), Failure::Kind::refused);
  auto bad_token = get(server.url());
  bad_token.authorization = Secret("Bearer a\nb");
  EXPECT_EQ(kind(perform(std::move(bad_token))), Failure::Kind::refused);
  EXPECT_TRUE(server.seen().empty());
}

TEST_F(HttpClient, CancelEndsAWaitingCallAtOnceAndTheClientGoesOn) {
  server.on("GET /hold", {{200, {}, "", Manner::hold}});
  server.on("GET /a", {json("{}")});
  for (const std::size_t room : {8UL, 0UL}) {  // with a hook, and without one
    FakeCall waiting(60s, room);
    Outcome outcome;
    const auto before = server.seen().size();
    std::thread thread([&] {
      github::CallCaller caller(waiting.call());
      outcome = client.perform(get(server.url() + "/hold"), caller);
    });
    EXPECT_TRUE(server.wait_for(before + 1));
    waiting.cancel();
    thread.join();
    EXPECT_EQ(kind(outcome), Failure::Kind::cancelled);
  }
  FakeCall cancelled;
  cancelled.cancel();
  github::CallCaller caller(cancelled.call());
  EXPECT_EQ(kind(client.perform(get(server.url() + "/a"), caller)), Failure::Kind::cancelled);
  EXPECT_EQ(std::get<Response>(perform(get(server.url() + "/a"))).status, 200);
}

TEST_F(HttpClient, TheDeadlineEndsACall) {
  server.on("GET /hold", {{200, {}, "", Manner::hold}});
  FakeCall hurried(50ms);
  github::CallCaller caller(hurried.call());
  EXPECT_EQ(kind(client.perform(get(server.url() + "/hold"), caller)), Failure::Kind::deadline);
}

TEST_F(HttpClient, APostIsSentAtMostOnce) {
  server.on("GET /a", {json("{}")});
  server.on("POST /b", {{200, {}, "", Manner::drop}});
  EXPECT_EQ(std::get<Response>(perform(get(server.url() + "/a"))).status, 200);
  auto post = get(server.url() + "/b");
  post.method = Method::post;
  post.body = "once";
  // The connection is one that was kept, which libcurl would answer with another try.
  EXPECT_EQ(kind(perform(std::move(post))), Failure::Kind::unreachable);
  EXPECT_EQ(server.count("POST /b"), 1U);
}

TEST_F(HttpClient, RedirectsAreAnswersUnlessADownloadMayFollow) {
  server.on("GET /a", {{302, {{"Location", "/b"}}, "moved"}});
  server.on("GET /b", {json("{}")});
  EXPECT_EQ(std::get<Response>(perform(get(server.url() + "/a"))).status, 302);
  EXPECT_EQ(server.count("GET /b"), 0U);
}

TEST_F(HttpClient, ABatchRunsInParallelWithinItsBoundAndAnswersEach) {
  std::atomic<int> now{0};
  std::atomic<int> most{0};
  server.on_any([&](const plugin_test::Seen& seen) {
    const int running = ++now;
    int known = most.load();
    while (known < running && !most.compare_exchange_weak(known, running)) {
    }
    std::this_thread::sleep_for(5ms);
    --now;
    return json("\"" + seen.line + "\"");
  });
  github::CallCaller caller(call.call());
  Batch batch(client, caller, 4);
  for (std::uint64_t i = 0; i < 40; ++i)
    batch.add(get(server.url() + "/" + std::to_string(i)), i);
  std::set<std::uint64_t> tags;
  while (auto done = batch.next()) {
    EXPECT_EQ(std::get<Response>(done->outcome).body, "\"GET /" + std::to_string(done->tag) + "\"");
    tags.insert(done->tag);
  }
  EXPECT_EQ(tags.size(), 40U);
  EXPECT_LE(most.load(), 4);
  EXPECT_LE(server.connections(), 4U);
}

TEST_F(HttpClient, ACancelledBatchAnswersEveryRequest) {
  server.on_any([](const plugin_test::Seen&) { return Reply{200, {}, "", Manner::hold}; });
  github::CallCaller caller(call.call());
  Batch batch(client, caller, 3);
  for (std::uint64_t i = 0; i < 10; ++i)
    batch.add(get(server.url() + "/"), i);
  std::thread canceller([&] {
    EXPECT_TRUE(server.wait_for(3));
    call.cancel();
  });
  int cancelled = 0;
  while (auto done = batch.next())
    cancelled += kind(done->outcome) == Failure::Kind::cancelled ? 1 : 0;
  canceller.join();
  EXPECT_EQ(cancelled, 10);
}

TEST_F(HttpClient, ManyThreadsShareOneClient) {
  server.on_any([](const plugin_test::Seen& seen) { return json("\"" + seen.line + "\""); });
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      FakeCall mine;
      github::CallCaller caller(mine.call());
      for (int i = 0; i < 20; ++i) {
        const auto path = "/" + std::to_string(t) + "-" + std::to_string(i);
        const auto outcome = client.perform(get(server.url() + path), caller);
        const auto* response = std::get_if<Response>(&outcome);
        if (response != nullptr && response->body == "\"GET " + path + "\"") ++good;
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(good.load(), 160);
}

TEST_F(HttpClient, GivesUpWhatStillRunsWhenItEnds) {
  server.on_any([](const plugin_test::Seen&) { return Reply{200, {}, "", Manner::hold}; });
  {
    Client shortlived(options());
    github::CallCaller caller(call.call());
    Batch batch(shortlived, caller, 2);
    batch.add(get(server.url() + "/"), 1);
    batch.add(get(server.url() + "/"), 2);
    FakeCall hurried(20ms);
    github::CallCaller other(hurried.call());
    EXPECT_EQ(kind(shortlived.perform(get(server.url() + "/"), other)), Failure::Kind::deadline);
  }
  SUCCEED();
}

TEST_F(HttpClient, LeavesTheSignalMaskAlone) {
  sigset_t before;
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  const Client another(options());
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int signal = 1; signal < SIGRTMAX; ++signal) {
    EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal)) << signal;
  }
}

// A receiver that keeps what it gets.
struct Kept : Receiver {
  Take head(const Response& response) override {
    status = response.status;
    ++heads;
    return answer;
  }
  bool chunk(std::string_view bytes) override {
    EXPECT_LE(bytes.size(), std::size_t{1} << 20);
    if (chunks == 0 && slow != 0ms) std::this_thread::sleep_for(slow);
    ++chunks;
    body.append(bytes);
    return body.size() < stop_at;
  }
  Take answer = Take::stream;
  std::chrono::milliseconds slow{0};
  std::size_t stop_at = SIZE_MAX;
  long status = 0;
  int heads = 0;
  int chunks = 0;
  std::string body;
};

class HttpDownload : public HttpClient {
 protected:
  Outcome download(Request request) {
    github::CallCaller caller(call.call());
    return client.download(std::move(request), kept, caller);
  }
  static std::string pattern(std::size_t size) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i)
      text[i] = static_cast<char>(i * 2654435761U >> 13);
    return text;
  }
  Kept kept;
};

TEST_F(HttpDownload, ASlowReceiverHoldsTheStreamBackAndGetsEveryByte) {
  const auto bytes = pattern(std::size_t{3} << 20);
  server.on("GET /f", {{200, {}, bytes}});
  kept.slow = 300ms;
  EXPECT_EQ(std::get<Response>(download(get(server.url() + "/f"))).status, 200);
  EXPECT_EQ(kept.heads, 1);
  EXPECT_TRUE(kept.body == bytes);
}

TEST_F(HttpDownload, ASlowReceiverIsNoStall) {
  const auto bytes = pattern(std::size_t{2} << 20);
  server.on("GET /f", {{200, {}, bytes}});
  kept.slow = 3s;
  auto request = get(server.url() + "/f");
  request.stall_timeout = 2s;
  EXPECT_EQ(std::get<Response>(download(std::move(request))).status, 200);
  EXPECT_TRUE(kept.body == bytes);
}

TEST_F(HttpDownload, FollowsRedirectsWithoutTheCredential) {
  const Server other;
  Server target;
  target.on("GET /file", {{200, {}, "bytes"}});
  server.on("GET /a", {{302, {{"Location", "/b"}}, "moved"}});
  server.on("GET /b", {{307, {{"Location", target.url() + "/file"}}, "moved"}});
  auto request = get(server.url() + "/a");
  request.redirects = 2;
  request.authorization = Secret("Bearer abc");
  request.headers = {{"Range", "bytes=0-"}};
  EXPECT_EQ(std::get<Response>(download(std::move(request))).status, 200);
  EXPECT_EQ(kept.body, "bytes");
  EXPECT_EQ(kept.heads, 1);
  EXPECT_EQ(server.seen()[1].header("authorization"), "Bearer abc");
  ASSERT_EQ(target.seen().size(), 1U);
  EXPECT_EQ(target.seen()[0].header("authorization"), "");
  EXPECT_EQ(target.seen()[0].header("range"), "bytes=0-");
}

TEST_F(HttpDownload, RedirectsAreCounted) {
  server.on("GET /a", {{302, {{"Location", "/a"}}, ""}});
  auto request = get(server.url() + "/a");
  request.redirects = 3;
  EXPECT_EQ(std::get<Response>(download(std::move(request))).status, 302);
  EXPECT_EQ(server.count("GET /a"), 4U);
  EXPECT_EQ(kept.status, 302);
}

TEST_F(HttpDownload, ARedirectToAnotherSchemeIsRefused) {
  for (const char* target : {"file:///etc/passwd", "ftp://127.0.0.1/", "http://u:p@127.0.0.1/"}) {
    server.on("GET /a", {{302, {{"Location", target}}, ""}});
    auto request = get(server.url() + "/a");
    request.redirects = 3;
    EXPECT_EQ(kind(download(std::move(request))), Failure::Kind::refused) << target;
  }
}

TEST_F(HttpDownload, AnErrorsBodyIsCollectedWithinItsBound) {
  server.on("GET /f", {{404, {}, std::string(100'000, 'x')}});
  kept.answer = Receiver::Take::collect;
  auto request = get(server.url() + "/f");
  request.max_body = 1000;
  EXPECT_EQ(std::get<Response>(download(std::move(request))).body.size(), 1000U);
  EXPECT_TRUE(kept.body.empty());
}

TEST_F(HttpDownload, AReceiverMayStopOrThrow) {
  server.on("GET /f", {{200, {}, std::string(2 << 20, 'x')}});
  kept.stop_at = 100;
  EXPECT_EQ(kind(download(get(server.url() + "/f"))), Failure::Kind::stopped);
  kept.answer = Receiver::Take::stop;
  EXPECT_EQ(kind(download(get(server.url() + "/f"))), Failure::Kind::stopped);
  struct Throws : Receiver {
    Take head(const Response&) override { throw std::runtime_error("no"); }
    bool chunk(std::string_view) override { return true; }
  } throws;
  github::CallCaller caller(call.call());
  EXPECT_THROW((void)client.download(get(server.url() + "/f"), throws, caller), std::runtime_error);
  EXPECT_EQ(call.hooks(), 0U);
}

TEST_F(HttpDownload, WhatCameBeforeABreakIsDelivered) {
  const auto bytes = pattern(100'000);
  server.on("GET /f", {{200, {}, bytes, Manner::drop_body}});
  EXPECT_EQ(kind(download(get(server.url() + "/f"))), Failure::Kind::broken);
  EXPECT_TRUE(kept.body == bytes.substr(0, 50'000));
}

}  // namespace
}  // namespace plugins::http
