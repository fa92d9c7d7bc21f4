#include "github/fetch.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "github/answer.hpp"

namespace plugins::github {
namespace {

using rmgr::Error;
using rmgr::Status;

constexpr int kMaxRedirects = 5;
constexpr std::string_view kFailed = "Downloading a runner package failed: ";

bool take_number(std::string_view& text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value < 0) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take_text(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Only a strong entity tag, or else a date, can prove that a part belongs to the same file.
std::string validator_of(const http::Response& response) {
  const auto etag = response.header("etag").value_or("");
  if (etag.starts_with('"') && etag.size() <= 256) return std::string(etag);
  const auto modified = response.header("last-modified").value_or("");
  return modified.size() <= 64 ? std::string(modified) : std::string();
}

std::int64_t content_length(const http::Response& response) {
  auto text = response.header("content-length").value_or("");
  std::int64_t length = -1;
  return take_number(text, length) && text.empty() ? length : -1;
}

Error failed(const http::Failure& failure) {
  using Kind = http::Failure::Kind;
  Status status = Status::retry;
  switch (failure.kind) {
    case Kind::cancelled: status = Status::cancelled; break;
    case Kind::deadline: status = Status::deadline; break;
    case Kind::unreachable: status = Status::unreachable; break;
    case Kind::refused: status = Status::bad_response; break;
    case Kind::broken:
    case Kind::stalled:
    case Kind::too_large:
    case Kind::stopped: break;
  }
  return {status, std::string(kFailed) + failure.message + "."};
}

Error failed(const http::Response& response) {
  Millis wait{0};
  Status status = Status::bad_response;
  std::string hint;
  if (response.status == 404 || response.status == 410) {
    status = Status::not_found;
  } else if (response.status == 401 || response.status == 403) {
    status = Status::denied;
    hint = " Check whether a proxy or the server refuses the download.";
  } else if (response.status == 408 || response.status == 429 || response.status >= 500) {
    status = Status::retry;
    auto text = response.header("retry-after").value_or("");
    std::int64_t seconds = 0;
    if (take_number(text, seconds) && text.empty())
      wait = Millis{std::min<std::int64_t>(seconds, 900) * 1000};
  }
  return {status,
          std::string(kFailed) + "the server answered " + std::to_string(response.status) + "." + hint, wait};
}

}  // namespace

std::optional<ContentRange> parse_content_range(std::string_view text) {
  ContentRange range;
  if (!take_text(text, "bytes ") || !take_number(text, range.first) || !take_text(text, "-") ||
      !take_number(text, range.last) || !take_text(text, "/")) {
    return std::nullopt;
  }
  if (text != "*" && (!take_number(text, range.total) || !text.empty())) return std::nullopt;
  if (range.last < range.first || (range.total >= 0 && range.last >= range.total)) return std::nullopt;
  return range;
}

http::Request Fetch::request(const std::string& url, const http::Secret& token,
                             std::string_view validator) const {
  http::Request request;
  request.url = url;
  request.redirects = kMaxRedirects;
  request.stall_timeout = stall_timeout_;
  request.max_body = 4096;  // of an error
  request.headers = {{"Accept", "application/octet-stream"}};
  if (!token.empty()) request.authorization = http::Secret{"Bearer ", token.view()};
  if (offset_ > 0) {
    request.headers.push_back({"Range", "bytes=" + std::to_string(offset_) + "-"});
    request.headers.push_back({"If-Range", std::string(validator)});
  }
  return request;
}

void Fetch::run(const std::string& url, const http::Secret& token, std::int64_t offset,
                std::string_view validator) {
  wanted_offset_ = offset > 0;
  // Without a validator nothing proves that the rest belongs to what is there.
  offset_ = validator.empty() ? 0 : offset;
  for (;;) {
    const auto outcome = client_.download(request(url, token, validator), *this, caller_);
    if (const auto* failure = std::get_if<http::Failure>(&outcome)) throw failed(*failure);
    const auto& response = std::get<http::Response>(outcome);
    // What is there reaches to the end of the file or past it, so it is read again as a whole.
    if (response.status == 416 && offset_ > 0) {
      offset_ = 0;
      continue;
    }
    if (response.status != 200 && response.status != 206) throw failed(response);
    if (total_ >= 0 && position_ != total_)
      throw Error(Status::retry, std::string(kFailed) + "the file ended early.");
    return;
  }
}

http::Receiver::Take Fetch::head(const http::Response& head) {
  if (head.status != 200 && head.status != 206) return Take::collect;
  if (mentions(head.header("content-type").value_or(""), "text/html")) {
    throw Error(Status::bad_response,
                std::string(kFailed) + "the server sent a web page instead of the file.");
  }
  if (head.status == 206) {
    const auto range = parse_content_range(head.header("content-range").value_or(""));
    if (!range || offset_ == 0 || range->first != offset_) {
      throw Error(Status::bad_response,
                  std::string(kFailed) + "the server sent another part than was asked for.");
    }
    total_ = range->total;
    position_ = offset_;
    sink_.begin(total_, validator_of(head), false);
    return Take::stream;
  }
  total_ = content_length(head);
  position_ = 0;
  sink_.begin(total_, validator_of(head), wanted_offset_);
  return Take::stream;
}

bool Fetch::chunk(std::string_view bytes) {
  position_ += static_cast<std::int64_t>(bytes.size());
  if (total_ >= 0 && position_ > total_) {
    throw Error(Status::bad_response, std::string(kFailed) + "the server sent more than it announced.");
  }
  sink_.chunk(bytes);
  return true;
}

}  // namespace plugins::github
