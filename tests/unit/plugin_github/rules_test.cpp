// The pure rules: URLs, targets, pages, names of packages, what answers mean, pace.
#include <gtest/gtest.h>

#include "github/answer.hpp"
#include "github/endpoint.hpp"
#include "github/fetch.hpp"
#include "github/link.hpp"
#include "github/pace.hpp"
#include "github/page_cache.hpp"
#include "github/parse.hpp"
#include "github/settings.hpp"
#include "support/http/url.hpp"
#include "support/package/name.hpp"
#include "unit/plugin_github/fakes.hpp"

namespace plugins::github {
namespace {

using plugin_test::error_of;
using rmgr::Status;

TEST(Endpoint, FollowsTheRulesOfEachKindOfHost) {
  const std::pair<const char*, const char*> cases[] = {
      {"https://github.com", "https://api.github.com"},
      {"https://github.com/", "https://api.github.com"},
      {"https://github.com///", "https://api.github.com"},
      {"HTTPS://GitHub.COM", "https://api.github.com"},
      {"https://www.github.com", "https://api.github.com"},
      {"https://api.github.com", "https://api.github.com"},
      {"https://github.com:443", "https://api.github.com"},
      {"https://octo.ghe.com", "https://api.octo.ghe.com"},
      {"https://OCTO.GHE.com/", "https://api.octo.ghe.com"},
      {"https://api.octo.ghe.com", "https://api.octo.ghe.com"},
      {"https://git.example.org", "https://git.example.org/api/v3"},
      {"https://git.example.org/api/v3/", "https://git.example.org/api/v3"},
      {"https://git.example.org:8443/", "https://git.example.org:8443/api/v3"},
      {"https://notgithub.com", "https://notgithub.com/api/v3"},
      {"https://ghe.com.example.org", "https://ghe.com.example.org/api/v3"},
      {"http://127.0.0.1:8080", "http://127.0.0.1:8080/api/v3"},
      {"http://localhost:8080/", "http://localhost:8080/api/v3"},
      {"http://[::1]:8080", "http://[::1]:8080/api/v3"},
  };
  for (const auto& [url, api] : cases)
    EXPECT_EQ(endpoint_of(url, true).api, api) << url;
}

TEST(Endpoint, RefusesWhatIsNoPlainBaseUrl) {
  for (const char* url : {"", "github.com", "ftp://github.com", "https://", "https://user:word@github.com",
                          "https://github.com/octo", "https://github.com?x=1", "http://github.com",
                          "http://192.0.2.1", "http://localhost.example.org", "http://127.0.0.1.example.org",
                          "https://git hub.com", "https://github.com\n"}) {
    EXPECT_EQ(error_of([&] { endpoint_of(url, true); }).status(), Status::invalid) << url;
  }
  EXPECT_EQ(error_of([&] { endpoint_of("http://127.0.0.1", false); }).status(), Status::invalid);
}

TEST(Endpoint, AMessageNeverRepeatsWhatIsInTheUrl) {
  const auto error = error_of([] { endpoint_of("https://octo:hunter2@github.com/?token=hunter2", true); });
  EXPECT_EQ(std::string(error.what()).find("hunter2"), std::string::npos);
}

TEST(Target, IsARepositoryOrAnOrganization) {
  EXPECT_EQ(target_path("octo/app").path, "/repos/octo/app");
  EXPECT_FALSE(target_path("octo/app").organization);
  EXPECT_EQ(target_path("octo-org").path, "/orgs/octo-org");
  EXPECT_TRUE(target_path("octo-org").organization);
  for (const char* bad :
       {"", "/", "a/", "/b", "a/b/c", "a/..", "../b", "a b", "a/b?x", "a/b#", "a%2fb", ".."}) {
    EXPECT_EQ(error_of([&] { target_path(bad); }).status(), Status::invalid) << bad;
  }
}

TEST(Links, ReadsWhatServersSend) {
  const auto links = parse_links(
      R"(<https://h/a?labels=x,y&page=2>; rel="next", <https://h/a?page=9>; title="a, b; \"c\""; rel="last other" )");
  ASSERT_TRUE(links);
  ASSERT_EQ(links->size(), 2U);
  EXPECT_EQ((*links)[0].url, "https://h/a?labels=x,y&page=2");
  EXPECT_EQ((*links)[0].rels, (std::vector<std::string>{"next"}));
  EXPECT_EQ((*links)[1].rels, (std::vector<std::string>{"last", "other"}));
  const auto odd = parse_links("<u>;rel=NEXT;rel=prev,,<v> ; REL = \"prev\"; flag");
  ASSERT_TRUE(odd);
  ASSERT_EQ(odd->size(), 2U);
  EXPECT_EQ((*odd)[0].rels, (std::vector<std::string>{"next"}));
  EXPECT_EQ((*odd)[1].rels, (std::vector<std::string>{"prev"}));
  EXPECT_TRUE(parse_links("")->empty());
}

TEST(Links, RefusesWhatItCannotRead) {
  for (const char* bad :
       {"<u", "u; rel=next", "<u> rel=next", "<u>; rel=\"next", "<u>; =x", "<u>; rel=\"a\\"}) {
    EXPECT_FALSE(parse_links(bad)) << bad;
  }
  EXPECT_FALSE(parse_links(std::string(70'000, ',')));
}

TEST(PackageName, VersionIsTheLastPart) {
  const std::pair<const char*, const char*> good[] = {
      {"actions-runner-linux-x64-2.331.0.tar.gz", "2.331.0"},
      {"actions-runner-win-x64-2.331.zip", "2.331"},
      {"a-1.2.3.4.tar.gz", "1.2.3.4"},
  };
  for (const auto& [file, version] : good)
    EXPECT_EQ(package::parse_name(file)->version, version) << file;
  EXPECT_EQ(package::parse_name("actions-runner-linux-x64-2.331.0.tar.gz")->stem, "actions-runner-linux-x64");
  for (const char* bad :
       {"", "x.tar.gz", "a-1.tar.gz", "a-1.2.3.4.5.zip", "a-1..2.zip", "a-1.2..zip", "a-1.2x.zip", "a-.zip",
        "-1.2.zip", "a-1.2.tar.xz", "a-v1.2.zip", "a-1.1234567890.zip"}) {
    EXPECT_FALSE(package::parse_name(bad)) << bad;
  }
}

TEST(PackageName, DigestIsHexOrNothing) {
  EXPECT_EQ(package::normal_sha256(std::string(64, 'A')), std::string(64, 'a'));
  EXPECT_EQ(package::normal_sha256(std::string(63, 'a')), "");
  EXPECT_EQ(package::normal_sha256(std::string(64, 'g')), "");
}

TEST(ContentRange, IsReadStrictly) {
  const auto range = parse_content_range("bytes 10-19/20");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first, 10);
  EXPECT_EQ(range->total, 20);
  EXPECT_EQ(parse_content_range("bytes 10-19/*")->total, -1);
  for (const char* bad :
       {"", "bytes */20", "bytes 10-9/20", "bytes 10-20/20", "bytes a-b/c", "10-19/20", "bytes -1-5/9"}) {
    EXPECT_FALSE(parse_content_range(bad)) << bad;
  }
}

http::Response answer(long status, std::vector<http::Header> headers, std::string body = "") {
  return {status, std::move(headers), std::move(body)};
}
const http::Header kJson{"content-type", "application/json; charset=utf-8"};
constexpr Millis kWall{1'000'000'000};

TEST(Answer, EachStatusHasOneMeaning) {
  const std::pair<long, Meaning> cases[] = {
      {200, Meaning::success},      {201, Meaning::success},   {204, Meaning::success},
      {304, Meaning::not_modified}, {400, Meaning::invalid},   {401, Meaning::unauthorized},
      {403, Meaning::denied},       {404, Meaning::not_found}, {410, Meaning::not_found},
      {409, Meaning::conflict},     {422, Meaning::invalid},   {429, Meaning::rate_limited},
      {301, Meaning::nonsense},     {302, Meaning::nonsense},  {500, Meaning::nonsense},
      {502, Meaning::nonsense},     {503, Meaning::nonsense},  {418, Meaning::nonsense},
  };
  for (const auto& [status, meaning] : cases) {
    EXPECT_EQ(judge(answer(status, {kJson}, R"({"message":"m"})"), kWall).meaning, meaning) << status;
  }
}

TEST(Answer, HtmlIsNeverGitHubsWord) {
  const http::Header html{"content-type", "text/html"};
  for (const long status : {400L, 401L, 403L, 404L, 409L, 422L}) {
    EXPECT_EQ(judge(answer(status, {html}, "<html>"), kWall).meaning, Meaning::nonsense) << status;
    EXPECT_EQ(judge(answer(status, {}), kWall).meaning, Meaning::nonsense) << status;
  }
}

TEST(Answer, OnlyTwoStatusesCanBeRateLimits) {
  const std::vector<http::Header> spent{
      kJson, {"x-ratelimit-remaining", "0"}, {"x-ratelimit-reset", "1000120"}};
  EXPECT_EQ(judge(answer(404, spent), kWall).meaning, Meaning::not_found);
  EXPECT_EQ(judge(answer(422, spent), kWall).meaning, Meaning::invalid);
  const auto primary = judge(answer(403, spent), kWall);
  EXPECT_EQ(primary.meaning, Meaning::rate_limited);
  EXPECT_EQ(primary.retry_after, Millis{120'000});
}

TEST(Answer, RateLimitsSayHowLong) {
  const auto wait = [](long status, std::vector<http::Header> headers, const char* body = "{}") {
    headers.push_back(kJson);
    const auto result = judge(answer(status, std::move(headers), body), kWall);
    return result.meaning == Meaning::rate_limited ? result.retry_after.count() : -1;
  };
  EXPECT_EQ(wait(429, {}), 60'000);
  EXPECT_EQ(wait(429, {{"retry-after", "7"}}), 7'000);
  EXPECT_EQ(wait(403, {{"retry-after", "7"}}), 7'000);
  EXPECT_EQ(wait(403, {{"retry-after", "soon"}}), -1);
  EXPECT_EQ(wait(403, {}, R"({"message":"You have exceeded a Secondary Rate Limit."})"), 60'000);
  EXPECT_EQ(wait(403, {}, R"({"message":"Resource not accessible by personal access token"})"), -1);
  EXPECT_EQ(wait(403, {{"x-ratelimit-remaining", "12"}}), -1);
  EXPECT_EQ(wait(403, {{"x-ratelimit-remaining", "0"}}), 60'000);
  // The reset is in the past: the shortest wait.
  EXPECT_EQ(wait(403, {{"x-ratelimit-remaining", "0"}, {"x-ratelimit-reset", "5"}}), 1'000);
  // The server's clock counts, not ours.
  EXPECT_EQ(wait(403, {{"x-ratelimit-remaining", "0"},
                       {"x-ratelimit-reset", "1700000010"},
                       {"date", "Tue, 14 Nov 2023 22:13:20 GMT"}}),
            10'000);
}

TEST(Answer, QuotaIsAShareOfTheLimit) {
  const auto quota = [](std::vector<http::Header> headers) {
    return quota_left_percent(answer(200, std::move(headers)));
  };
  EXPECT_EQ(quota({}), -1);
  EXPECT_EQ(quota({{"x-ratelimit-limit", "5000"}, {"x-ratelimit-remaining", "999"}}), 19);
  EXPECT_EQ(quota({{"x-ratelimit-limit", "0"}, {"x-ratelimit-remaining", "0"}}), -1);
  EXPECT_EQ(quota({{"x-ratelimit-limit", "60"}, {"x-ratelimit-remaining", "600"}}), 100);
  EXPECT_EQ(quota({{"x-ratelimit-limit", "60"}, {"x-ratelimit-remaining", "-5"}}), -1);
}

TEST(Answer, MessagesAreTidied) {
  EXPECT_EQ(tidy("a\nb\x1b[31m\xff"), "a?b?[31m?");
  EXPECT_EQ(tidy(std::string(500, 'x')).size(), 200U);
  EXPECT_EQ(request_id_of({{"x-github-request-id", "AB12:34-5"}}), "AB12:34-5");
  EXPECT_EQ(request_id_of({{"x-github-request-id", "AB 12"}}), "");
}

TEST(Answer, KnowsJson) {
  const auto type = [](const char* text) { return is_json(answer(200, {{"content-type", text}})); };
  EXPECT_TRUE(type("application/json"));
  EXPECT_TRUE(type("Application/JSON ; charset=utf-8"));
  EXPECT_TRUE(type("application/vnd.github+json"));
  EXPECT_FALSE(type("text/html; x=application/json"));
  EXPECT_FALSE(type("text/plain"));
  EXPECT_FALSE(is_json(answer(200, {})));
}

TEST(Pace, TheLongestWishCountsAndNeverASum) {
  Pace pace;
  EXPECT_FALSE(pace.wait(Millis{0}, 1));
  pace.limited(Millis{1000}, Millis{60'000});
  pace.limited(Millis{2000}, Millis{10'000});
  EXPECT_EQ(pace.wait(Millis{2000}, 1)->left, Millis{59'000});
  EXPECT_FALSE(pace.wait(Millis{2000}, 1)->rejected);
  EXPECT_FALSE(pace.wait(Millis{61'000}, 1));
  pace.limited(Millis{100'000}, Millis{3'600'000});
  EXPECT_EQ(pace.wait(Millis{100'000}, 1)->left, kLongestHold);
}

TEST(Pace, QuietGrowsWithEachRejectionAndEnds) {
  Pace pace;
  const std::int64_t quiet[] = {30, 60, 120, 240, 480, 900, 900};
  Millis now{0};
  for (const auto seconds : quiet) {
    pace.rejected(now, 7);
    const auto wait = pace.wait(now, 7);
    ASSERT_TRUE(wait);
    EXPECT_EQ(wait->rejected, CredentialState::rejected);
    EXPECT_EQ(wait->left, Millis{seconds * 1000});
    now += wait->left;
    EXPECT_FALSE(pace.wait(now, 7));
  }
  pace.accepted(7);
  pace.rejected(now, 7);
  EXPECT_EQ(pace.wait(now, 7)->left, Millis{30'000});
}

TEST(Pace, ARotatedCredentialIsFreeAtOnce) {
  Pace pace;
  pace.rejected(Millis{0}, 7);
  EXPECT_TRUE(pace.wait(Millis{0}, 7));
  EXPECT_FALSE(pace.wait(Millis{0}, 8));
  pace.rejected(Millis{1000}, 8);
  EXPECT_EQ(pace.wait(Millis{1000}, 8)->left, Millis{30'000});
}

TEST(Parse, PagesOfWrongShapeAreNothing) {
  for (const char* body :
       {"", "null", "[]", "{}", "\"x\"", "{\"jobs\":{}}", "{\"jobs\":[1]}", "{\"jobs\":[{}]}",
        R"({"jobs":[{"id":"1","run_id":2,"status":"queued","labels":[]}]})",
        R"({"jobs":[{"id":1,"run_id":2,"status":"queued","labels":[1]}]})",
        R"({"jobs":[{"id":1,"run_id":2,"status":"queued"}]})",
        R"({"jobs":[{"id":1.5,"run_id":2,"status":"queued","labels":[]}]})",
        R"({"jobs":[{"id":99999999999999999999,"run_id":2,"status":"queued","labels":[]}]})",
        R"({"jobs":[{"id":18446744073709551615,"run_id":2,"status":"queued","labels":[]}]})",
        R"({"jobs":[{"id":1,"run_id":2,"status":"queued","labels":[],"runner_name":3}]})", R"({"jobs":[)",
        "\xEF\xBB\xBF{\"jobs\":[]}", "<html></html>", "{\"jobs\":[]}x"}) {
    EXPECT_FALSE(parse_page(PageKind::jobs, body)) << body;
  }
  EXPECT_FALSE(parse_page(PageKind::jobs, std::string(100'000, '[')));
  EXPECT_FALSE(parse_page(PageKind::runners, R"({"runners":[{"id":1,"name":"a","status":"online"}]})"));
  EXPECT_FALSE(parse_page(PageKind::runs, R"({"workflow_runs":[{"id":-1}]})"));
  EXPECT_FALSE(parse_page(PageKind::repositories, R"({"repos":[]})"));
}

TEST(Parse, JobsKeepWhatCounts) {
  const auto page = parse_page(PageKind::jobs, R"({"total_count":4,"jobs":[
    {"id":1,"run_id":9,"status":"queued","labels":["self-hosted","X64"],"runner_id":null,"runner_name":null,"runner_group_id":null,"steps":[{"name":"odd"}]},
    {"id":2,"run_id":9,"status":"in_progress","labels":[],"runner_name":"r","runner_group_id":4},
    {"id":3,"run_id":9,"status":"completed","labels":[]},
    {"id":4,"run_id":9,"status":"waiting","labels":[]}]})");
  ASSERT_TRUE(page);
  const auto& jobs = std::get<Jobs>(*page).jobs;
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_TRUE(jobs[0].queued);
  EXPECT_EQ(jobs[0].labels, (std::vector<std::string>{"self-hosted", "X64"}));
  EXPECT_EQ(jobs[0].runner_group_id, 0);
  EXPECT_FALSE(jobs[1].queued);
  EXPECT_EQ(jobs[1].runner_name, "r");
  EXPECT_EQ(jobs[1].runner_group_id, 4);
}

TEST(Parse, RegistrationIsCheckedWhole) {
  const auto good = R"({"runner":{"id":5,"name":"r1","os":"unknown"},"encoded_jit_config":"YWJj"})";
  const auto registration = parse_registration(good, "r1");
  ASSERT_TRUE(registration);
  EXPECT_EQ(registration->runner_id, 5);
  EXPECT_EQ(registration->jit_config.view().reveal(), "YWJj");
  EXPECT_FALSE(parse_registration(good, "other"));
  for (const std::string body : {R"({"runner":{"id":5,"name":"r1"}})", R"({"encoded_jit_config":"YWJj"})",
                                 R"({"runner":{"id":5,"name":"r1"},"encoded_jit_config":""})",
                                 R"({"runner":{"id":5,"name":"r1"},"encoded_jit_config":7})",
                                 R"({"runner":{"id":5,"name":"r1"},"encoded_jit_config":"a\nb"})",
                                 R"({"runner":{"id":0,"name":"r1"},"encoded_jit_config":"YWJj"})", R"([])"}) {
    EXPECT_FALSE(parse_registration(body, "r1")) << body;
  }
  const auto large =
      R"({"runner":{"id":5,"name":"r1"},"encoded_jit_config":")" + std::string(65'537, 'a') + "\"}";
  EXPECT_FALSE(parse_registration(large, "r1"));
}

TEST(Parse, DownloadsMayLackDigestAndToken) {
  const auto rows = parse_downloads(R"([{"os":"linux","architecture":"x64","download_url":"u","filename":"f"},
    {"os":"linux","architecture":"x64","download_url":"u","filename":"f","sha256_checksum":"short","temp_download_token":"t"},
    {"os":"linux","architecture":"x64","download_url":"u","filename":"f","sha256_checksum":null,"temp_download_token":null}])");
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 3U);
  EXPECT_EQ((*rows)[1].sha256, "");
  EXPECT_EQ((*rows)[1].token.view().reveal(), "t");
  EXPECT_TRUE((*rows)[2].token.empty());
  EXPECT_FALSE(parse_downloads(R"([{"os":"linux"}])"));
  EXPECT_FALSE(parse_downloads(R"({"message":"x"})"));
}

TEST(Parse, MessagesAreTakenFromWhereverTheyAre) {
  EXPECT_EQ(parse_message(R"({"message":"m","errors":["a",{"message":"b"},{"code":"c"},3]})"), "m a b");
  EXPECT_EQ(parse_message("<html>"), "");
  EXPECT_EQ(parse_message(R"({"message":3})"), "");
}

TEST(Settings, TakesDefaultsAndRefusesWhatTheSchemaCannotSay) {
  const auto settings = parse_settings(R"({"token":"env:T"})");
  EXPECT_EQ(settings.endpoint.api, "https://api.github.com");
  EXPECT_EQ(settings.page_size, 100);
  for (const char* bad :
       {"{}", "[]", "x", R"({"token":3})", R"({"token":"env:T","ca_bundle":"relative.pem"})",
        R"({"token":"env:T","proxy":"ftp://p"})", R"({"token":"env:T","proxy":"http://u:p@h:3128"})",
        R"({"token":"env:T","url":"http://github.com"})",
        R"({"token":"env:T","url":"http://127.0.0.1","allow_http":false})"}) {
    EXPECT_EQ(error_of([&] { parse_settings(bad); }).status(), Status::invalid) << bad;
  }
}

TEST(PageCache, ForgetsWhatWasUsedLeastRecently) {
  PageCache cache(2);
  const auto page = [](const char* etag) {
    auto made = std::make_shared<CachedPage>();
    made->etag = etag;
    return made;
  };
  cache.keep("a", page("1"));
  cache.keep("b", page("2"));
  EXPECT_TRUE(cache.find("a"));
  cache.keep("c", page("3"));
  EXPECT_TRUE(cache.find("a"));
  EXPECT_FALSE(cache.find("b"));
  EXPECT_EQ(cache.find("c")->etag, "3");
}

TEST(Url, IsTakenApart) {
  const auto url = http::parse_url("HTTPS://Example.org:8443/a/b?c=d");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->scheme, "https");
  EXPECT_EQ(url->authority(), "example.org:8443");
  EXPECT_EQ(url->path, "/a/b");
  EXPECT_EQ(url->query, "c=d");
  EXPECT_FALSE(url->userinfo);
  EXPECT_TRUE(http::parse_url("https://u@h/")->userinfo);
  EXPECT_TRUE(http::parse_url("https://h:443/")->same_origin(*http::parse_url("https://H/x")));
  EXPECT_FALSE(http::parse_url("https://h/")->same_origin(*http::parse_url("http://h/")));
  EXPECT_FALSE(http::parse_url("https://" + std::string(9000, 'a')));
}

}  // namespace
}  // namespace plugins::github
