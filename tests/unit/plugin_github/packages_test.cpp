// The package source against a scripted server.
#include "github/packages.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "unit/plugin_github/fakes.hpp"
#include "unit/plugin_github/server.hpp"

namespace plugins::github {
namespace {

using plugin_test::error_of;
using plugin_test::FakeCall;
using plugin_test::FakeHost;
using plugin_test::json;
using plugin_test::Reply;
using plugin_test::Server;
using rmgr::Status;
using Manner = Reply::Manner;

const std::string kDownloads = "GET /api/v3/repos/octo/app/actions/runners/downloads";

struct Received {
  int begins = 0;
  std::int64_t total = 0;
  std::string validator;
  bool restarted = false;
  std::string bytes;
  std::size_t refuse_after = SIZE_MAX;

  rmgr_fetch_sink sink{sizeof(rmgr_fetch_sink), 0, this,
                       [](void* ctx, std::int64_t size, rmgr_str proof, std::int32_t again) -> rmgr_status {
                         auto& self = *static_cast<Received*>(ctx);
                         ++self.begins;
                         self.total = size;
                         self.validator = rmgr::from_abi(proof);
                         self.restarted = again != 0;
                         return RMGR_OK;
                       },
                       [](void* ctx, const std::uint8_t* data, std::size_t size) -> rmgr_status {
                         auto& self = *static_cast<Received*>(ctx);
                         EXPECT_EQ(self.begins, 1);
                         self.bytes.append(reinterpret_cast<const char*>(data), size);
                         return self.bytes.size() > self.refuse_after ? RMGR_E_CANCELLED : RMGR_OK;
                       }};
};

class GitHubPackages : public testing::Test {
 protected:
  GitHubPackages() {
    host.set_secret("env:T", "ghp_needle0123456789");
    make();
  }
  void make(const std::string& more = "") {
    source = std::make_unique<Packages>(host.host(),
                                        "{\"token\":\"env:T\",\"url\":\"" + server.url() + "\"" + more + "}");
  }
  std::vector<rmgr::Package> catalog() { return source->catalog(call.call(), {"octo/app", "linux", "x64"}); }
  rmgr::Error catalog_error() {
    return error_of([&] { catalog(); });
  }
  rmgr::Error fetch(Received& received, std::int64_t offset = 0, const std::string& validator = "") {
    return error_of([&] {
      source->fetch(call.call(), server.url() + "/f", offset, validator, rmgr::FetchSink(&received.sink));
    });
  }

  Server server;
  FakeHost host;
  FakeCall call;
  std::unique_ptr<Packages> source;
};

TEST_F(GitHubPackages, TheCatalogHoldsWhatFits) {
  server.on(kDownloads, {json(R"([
    {"os":"linux","architecture":"x64","download_url":")" +
                              server.url() +
                              R"(/f?sig=secret","filename":"actions-runner-linux-x64-2.331.0.tar.gz",
     "sha256_checksum":")" + std::string(64, 'A') +
                              R"(","temp_download_token":"temporary"},
    {"os":"linux","architecture":"arm64","download_url":"https://h/g","filename":"odd"},
    {"os":"win","architecture":"x64","download_url":"https://h/g","filename":"actions-runner-win-x64-2.331.0.zip"}])")});
  const auto packages = catalog();
  ASSERT_EQ(packages.size(), 1U);
  EXPECT_EQ(packages[0].version, "2.331.0");
  EXPECT_EQ(packages[0].filename, "actions-runner-linux-x64-2.331.0.tar.gz");
  EXPECT_EQ(packages[0].sha256, std::string(64, 'a'));
  EXPECT_EQ(packages[0].size, -1);
  // What may be a secret stays behind the ref and is used all the same.
  EXPECT_EQ(packages[0].ref, server.url() + "/f");
  server.on("GET /f?sig=secret", {{200, {}, "bytes"}});
  Received received;
  EXPECT_EQ(fetch(received).status(), Status::ok);
  EXPECT_EQ(received.bytes, "bytes");
  EXPECT_EQ(server.seen().back().header("authorization"), "Bearer temporary");
}

TEST_F(GitHubPackages, ABadCatalogIsAnErrorAndNeverEmpty) {
  const auto row = [](const std::string& url, const std::string& file) {
    return json(R"([{"os":"linux","architecture":"x64","download_url":")" + url + R"(","filename":")" + file +
                "\"}]");
  };
  const std::pair<Reply, Status> cases[] = {
      {json("{}"), Status::bad_response},
      {json("[1]"), Status::bad_response},
      {{200, {{"Content-Type", "text/html"}}, "<html>"}, Status::bad_response},
      {row("https://h/f", "actions-runner.tar.gz"), Status::bad_response},
      {row("https://h/f", "../a-1.2.3.tar.gz"), Status::bad_response},
      {row("http://example.org/f", "a-1.2.3.tar.gz"), Status::bad_response},
      {row("file:///etc/passwd", "a-1.2.3.tar.gz"), Status::bad_response},
      {row("https://u:p@h/f", "a-1.2.3.tar.gz"), Status::bad_response},
      {json("{\"message\":\"m\"}", 404), Status::not_found},
      {json("{\"message\":\"m\"}", 403), Status::denied},
      {json("[]"), Status::ok},
  };
  for (const auto& [reply, status] : cases) {
    server.on(kDownloads, {reply});
    const auto error = catalog_error();
    EXPECT_EQ(error.status(), status) << error.what();
  }
  EXPECT_EQ(error_of([&] { source->catalog(call.call(), {"", "linux", "x64"}); }).status(), Status::invalid);
}

TEST_F(GitHubPackages, AFetchBringsTheFileAndNoCredential) {
  server.on("GET /f", {{302, {{"Location", "/g"}}, "moved"}});
  server.on("GET /g",
            {{200, {{"ETag", "\"v1\""}, {"Content-Type", "application/octet-stream"}}, "0123456789"}});
  Received received;
  EXPECT_EQ(fetch(received).status(), Status::ok);
  EXPECT_EQ(received.bytes, "0123456789");
  EXPECT_EQ(received.total, 10);
  EXPECT_EQ(received.validator, "\"v1\"");
  EXPECT_FALSE(received.restarted);
  for (const auto& seen : server.seen())
    EXPECT_EQ(seen.header("authorization"), "");
}

TEST_F(GitHubPackages, AFetchGoesOnWhereItStopped) {
  server.on("GET /f", {{206, {{"ETag", "\"v1\""}, {"Content-Range", "bytes 4-9/10"}}, "456789"}});
  Received received;
  EXPECT_EQ(fetch(received, 4, "\"v1\"").status(), Status::ok);
  EXPECT_EQ(received.bytes, "456789");
  EXPECT_EQ(received.total, 10);
  EXPECT_FALSE(received.restarted);
  EXPECT_EQ(server.seen()[0].header("range"), "bytes=4-");
  EXPECT_EQ(server.seen()[0].header("if-range"), "\"v1\"");
}

TEST_F(GitHubPackages, AnotherFileIsReadFromItsBeginning) {
  server.on("GET /f", {{200, {{"ETag", "\"v2\""}}, "0123456789"}});
  Received received;
  EXPECT_EQ(fetch(received, 4, "\"v1\"").status(), Status::ok);
  EXPECT_TRUE(received.restarted);
  EXPECT_EQ(received.bytes, "0123456789");
  Received unproven;
  EXPECT_EQ(fetch(unproven, 4, "").status(), Status::ok);
  EXPECT_TRUE(unproven.restarted);
  EXPECT_EQ(server.seen().back().header("range"), "");
}

TEST_F(GitHubPackages, AnOffsetPastTheEndStartsAgain) {
  server.on("GET /f", {{416, {{"Content-Range", "bytes */4"}}, ""}, {200, {}, "0123"}});
  Received received;
  EXPECT_EQ(fetch(received, 40, "\"v1\"").status(), Status::ok);
  EXPECT_TRUE(received.restarted);
  EXPECT_EQ(received.bytes, "0123");
}

TEST_F(GitHubPackages, OnlyAStrongTagOrADateIsAProof) {
  server.on("GET /f",
            {{200, {{"ETag", "W/\"v1\""}}, "x"},
             {200, {{"ETag", "W/\"v1\""}, {"Last-Modified", "Tue, 14 Nov 2023 22:13:20 GMT"}}, "x"}});
  Received weak;
  EXPECT_EQ(fetch(weak).status(), Status::ok);
  EXPECT_EQ(weak.validator, "");
  Received dated;
  EXPECT_EQ(fetch(dated).status(), Status::ok);
  EXPECT_EQ(dated.validator, "Tue, 14 Nov 2023 22:13:20 GMT");
}

TEST_F(GitHubPackages, EachBadDownloadHasItsStatus) {
  const std::pair<Reply, Status> cases[] = {
      {{404, {}, "Not Found"}, Status::not_found},
      {{403, {}, ""}, Status::denied},
      {{503, {{"Retry-After", "3"}}, ""}, Status::retry},
      {{418, {}, ""}, Status::bad_response},
      {{200, {{"Content-Type", "text/html; charset=utf-8"}}, "<html>"}, Status::bad_response},
      {{206, {{"Content-Range", "bytes 0-1/2"}}, "ab"}, Status::bad_response},
      {{302, {{"Location", "ftp://h/f"}}, ""}, Status::bad_response},
      {{200, {}, "0123456789", Manner::drop_body}, Status::retry},
      {{200, {}, "", Manner::drop}, Status::unreachable},
  };
  for (const auto& [reply, status] : cases) {
    server.on("GET /f", {reply});
    Received received;
    const auto error = fetch(received);
    EXPECT_EQ(error.status(), status) << error.what();
    if (reply.manner == Manner::whole) {
      EXPECT_EQ(received.begins, 0) << reply.status;
    }
    EXPECT_EQ(std::string(error.what()).find("/f"), std::string::npos) << error.what();
  }
  server.on("GET /f", {{206, {{"Content-Range", "bytes 3-9/10"}}, "3456789"}});
  Received received;
  EXPECT_EQ(fetch(received, 4, "\"v1\"").status(), Status::bad_response);
}

TEST_F(GitHubPackages, ADownloadThatStandsStillIsGivenUpAndCanBeResumed) {
  make(",\"stall_timeout_seconds\":3");
  server.on("GET /f", {{200, {}, "0123456789", Manner::stall_body}});
  Received received;
  EXPECT_EQ(fetch(received).status(), Status::retry);
  EXPECT_EQ(received.bytes, "01234");
}

TEST_F(GitHubPackages, ABrokenDownloadIsTakenUpAgain) {
  std::string bytes(400'000, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(i * 2654435761U >> 11);
  server.on_any([bytes](const plugin_test::Seen& seen) {
    const auto range = seen.header("range");
    if (range.empty()) return Reply{200, {{"ETag", "\"v1\""}}, bytes, Manner::drop_body};
    const auto from = std::stoul(range.substr(6));
    return Reply{206,
                 {{"ETag", "\"v1\""},
                  {"Content-Range", "bytes " + std::to_string(from) + "-" + std::to_string(bytes.size() - 1) +
                                        "/" + std::to_string(bytes.size())}},
                 bytes.substr(from)};
  });
  Received first;
  EXPECT_EQ(fetch(first).status(), Status::retry);
  EXPECT_EQ(first.bytes.size(), bytes.size() / 2);
  Received second;
  EXPECT_EQ(fetch(second, static_cast<std::int64_t>(first.bytes.size()), first.validator).status(),
            Status::ok);
  EXPECT_TRUE(first.bytes + second.bytes == bytes);
}

TEST_F(GitHubPackages, ARefusalOfTheHostEndsTheDownload) {
  server.on("GET /f", {{200, {}, std::string(200'000, 'x')}});
  Received received;
  received.refuse_after = 1000;
  EXPECT_EQ(fetch(received).status(), Status::cancelled);
}

TEST_F(GitHubPackages, ARefIsNoWayToOtherSchemes) {
  Received received;
  for (const std::string ref : {"file:///etc/passwd", "http://example.org/f", "", "nonsense"}) {
    const auto error =
        error_of([&] { source->fetch(call.call(), ref, 0, "", rmgr::FetchSink(&received.sink)); });
    EXPECT_EQ(error.status(), Status::bad_response) << ref;
  }
}

}  // namespace
}  // namespace plugins::github
