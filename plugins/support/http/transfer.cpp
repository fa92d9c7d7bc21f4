#include "support/http/transfer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "support/http/url.hpp"

namespace plugins::http {
namespace {

constexpr std::size_t kMaxHeaderBytes = std::size_t{256} << 10;
constexpr std::size_t kMaxPending = std::size_t{1} << 20;

bool printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte != 0x7f;
  });
}

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

// libcurl's own sentence about a connection. It never holds more than host names, ports and TLS reasons.
std::string detail_of(CURLcode code, const char* buffer) {
  std::string text = *buffer != '\0' ? buffer : curl_easy_strerror(code);
  if (text.size() > 200) text.resize(200);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return text;
}

}  // namespace

std::optional<std::string_view> Response::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return std::nullopt;
}

void WipeList::operator()(curl_slist* list) const {
  for (auto* item = list; item != nullptr; item = item->next)
    explicit_bzero(item->data, std::strlen(item->data));
  curl_slist_free_all(list);
}

Transfer::Transfer(std::shared_ptr<Mailbox> box, Request request, std::uint64_t tag, bool streaming)
    : box_(std::move(box)), request_(std::move(request)), tag_(tag), streaming_(streaming) {}

std::string Transfer::prepare(const Options& options, const Secret& proxy_credentials) {
  const auto url = parse_url(request_.url);
  if (!url || (url->scheme != "http" && url->scheme != "https")) return "the URL is not an http or https URL";
  if (url->userinfo) return "the URL carries a user name or password";
  peer_ = url->authority();
  easy_.reset(curl_easy_init());
  if (!easy_) return "there is no memory for a transfer";

  const auto append = [this](const char* line) {
    auto* longer = curl_slist_append(lines_.get(), line);
    if (longer == nullptr) return false;
    (void)lines_.release();
    lines_.reset(longer);
    return true;
  };
  bool ok = true;
  for (const auto& [name, value] : request_.headers) {
    if (!printable(name) || !printable(value)) return "a header holds control characters";
    std::string line = name;
    line.append(": ").append(value);
    ok = ok && append(line.c_str());
  }
  if (!request_.authorization.empty()) {
    if (!printable(request_.authorization.view())) return "the credential holds control characters";
    const Secret line{"Authorization: ", request_.authorization.view(), std::string_view("\0", 1)};
    ok = ok && append(line.view().data());
  }
  // An empty Expect keeps libcurl from waiting a second for "100 Continue".
  ok = ok && append("Expect:");

  ok = ok && set(CURLOPT_URL, request_.url.c_str()) && set(CURLOPT_HTTPHEADER, lines_.get()) &&
       set(CURLOPT_PRIVATE, this) && set(CURLOPT_ERRORBUFFER, detail_.data()) && set(CURLOPT_NOSIGNAL, 1L) &&
       set(CURLOPT_PROTOCOLS_STR, "http,https") && set(CURLOPT_FOLLOWLOCATION, 0L) &&
       set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_2TLS}) &&
       set(CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2}) &&
       set(CURLOPT_USERAGENT, options.user_agent.c_str()) &&
       set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout.count())) &&
       set(CURLOPT_HEADERFUNCTION, &Transfer::on_header) && set(CURLOPT_HEADERDATA, this) &&
       set(CURLOPT_WRITEFUNCTION, &Transfer::on_body) && set(CURLOPT_WRITEDATA, this) &&
       set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L) &&
       // Without it, giving up a transfer whose name is being resolved waits for the resolver, and so does
       // the loop.
       set(CURLOPT_QUICK_EXIT, 1L);
  // Requests to a host that is being connected to wait for that connection, since HTTP/2 will carry them all.
  if (url->scheme == "https") ok = ok && set(CURLOPT_PIPEWAIT, 1L);
  if (!streaming_) ok = ok && set(CURLOPT_ACCEPT_ENCODING, "gzip");
  if (!options.ca_bundle.empty()) ok = ok && set(CURLOPT_CAINFO, options.ca_bundle.c_str());
  // An empty string also keeps libcurl from asking the environment.
  ok = ok && set(CURLOPT_PROXY, options.proxy.c_str()) && set(CURLOPT_NOPROXY, options.no_proxy.c_str());
  if (!options.proxy.empty() && !proxy_credentials.empty()) {
    const Secret text{proxy_credentials.view(), std::string_view("\0", 1)};
    ok = ok && set(CURLOPT_PROXYUSERPWD, text.view().data()) &&
         set(CURLOPT_PROXYAUTH, static_cast<long>(CURLAUTH_BASIC));
  }
  switch (request_.method) {
    case Method::get: ok = ok && set(CURLOPT_HTTPGET, 1L); break;
    case Method::del: ok = ok && set(CURLOPT_CUSTOMREQUEST, "DELETE"); break;
    case Method::post:
      // The body comes from a callback that cannot rewind, so libcurl cannot send it again on another
      // connection.
      ok = ok && set(CURLOPT_POST, 1L) &&
           set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size())) &&
           set(CURLOPT_READFUNCTION, &Transfer::on_upload) && set(CURLOPT_READDATA, this);
      break;
  }
  return ok ? "" : "libcurl refused an option of the transfer";
}

std::size_t Transfer::on_header(char* data, std::size_t size, std::size_t count, void* self) noexcept {
  try {
    return static_cast<Transfer*>(self)->add_header({data, size * count}) ? size * count : 0;
  } catch (...) {
    return 0;
  }
}

std::size_t Transfer::on_body(char* data, std::size_t size, std::size_t count, void* self) noexcept {
  try {
    return static_cast<Transfer*>(self)->add_body({data, size * count});
  } catch (...) {
    return 0;
  }
}

std::size_t Transfer::on_upload(char* data, std::size_t size, std::size_t count, void* self) noexcept {
  auto& transfer = *static_cast<Transfer*>(self);
  const auto& body = transfer.request_.body;
  const auto length = std::min(size * count, body.size() - transfer.sent_);
  std::copy_n(body.data() + transfer.sent_, length, data);
  transfer.sent_ += length;
  return length;
}

bool Transfer::add_header(std::string_view line) {
  moved();
  if (abandoned_.load()) return false;
  if (stream_.head_ready) return true;  // a trailer, which nobody asked for
  header_bytes_ += line.size();
  if (header_bytes_ > kMaxHeaderBytes) {
    too_large_ = true;
    return false;
  }
  if (line.starts_with("HTTP/")) {
    began_ = true;
    response_.headers.clear();
    return true;
  }
  const auto colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return true;
  std::string name(line.substr(0, colon));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  response_.headers.push_back({std::move(name), std::string(trim(line.substr(colon + 1)))});
  return true;
}

std::size_t Transfer::add_body(std::string_view bytes) {
  moved();
  if (abandoned_.load()) return 0;
  if (!streaming_) {
    if (bytes.size() > request_.max_body - std::min(request_.max_body, response_.body.size())) {
      too_large_ = true;
      return 0;
    }
    if (response_.body.empty()) {
      // Room for all of it at once, so that a body with a secret leaves no copies behind while it grows.
      curl_off_t length = -1;
      curl_easy_getinfo(easy_.get(), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
      if (length > 0) response_.body.reserve(std::min(static_cast<std::size_t>(length), request_.max_body));
    }
    response_.body.append(bytes);
    return bytes.size();
  }
  {
    const std::lock_guard lock(box_->mutex);
    if (!stream_.head_ready) {
      curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &response_.status);
      stream_.head_ready = true;
    }
    if (stream_.pending.size() + bytes.size() > kMaxPending) {
      stream_.paused = true;
      return CURL_WRITEFUNC_PAUSE;
    }
    stream_.pending.append(bytes);
  }
  box_->changed.notify_all();
  return bytes.size();
}

bool Transfer::stalled(std::chrono::steady_clock::time_point now) {
  if (now < stalls_at()) return false;
  curl_off_t connected = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_PRETRANSFER_TIME_T, &connected);
  bool paused = false;
  if (streaming_) {
    const std::lock_guard lock(box_->mutex);
    paused = stream_.paused;
  }
  if (connected != 0 && !paused) return true;
  moved();
  return false;
}

void Transfer::finish(CURLcode code) {
  {
    const std::lock_guard lock(box_->mutex);
    code_ = code;
    if (!stream_.head_ready) curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &response_.status);
    if (code == CURLE_OK) stream_.head_ready = true;
    stream_.done = true;
    box_->finished.push_back(this);
  }
  box_->changed.notify_all();
}

std::string Transfer::redirect_target() const {
  char* target = nullptr;
  if (curl_easy_getinfo(easy_.get(), CURLINFO_REDIRECT_URL, &target) != CURLE_OK || target == nullptr)
    return {};
  return target;
}

Outcome Transfer::take_outcome() {
  if (code_ != CURLE_OK) return failure();
  return std::move(response_);
}

Failure Transfer::failure() const {
  using Kind = Failure::Kind;
  const auto detail = detail_of(code_, detail_.data());
  Failure failure{Kind::unreachable, peer_ + " cannot be reached: " + detail, response_.headers};
  if (too_large_) {
    failure.kind = Kind::too_large;
    failure.message = "the answer of " + peer_ + " is larger than is accepted";
    return failure;
  }
  if (code_ == CURLE_OPERATION_TIMEDOUT) {
    curl_off_t connected = 0;
    curl_easy_getinfo(easy_.get(), CURLINFO_PRETRANSFER_TIME_T, &connected);
    failure.kind = began_ ? Kind::stalled : Kind::unreachable;
    failure.message = peer_ + (began_          ? " stopped sending in the middle of its answer"
                               : connected > 0 ? " accepted the request and did not answer"
                                               : " did not accept a connection in time");
    return failure;
  }
  switch (code_) {
    case CURLE_PARTIAL_FILE:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
      if (began_) {
        failure.kind = Kind::broken;
        failure.message = "the connection to " + peer_ + " broke in the middle of its answer";
      } else {
        failure.message = "the connection to " + peer_ + " broke before it answered";
      }
      break;
    case CURLE_SEND_ERROR:
    case CURLE_SEND_FAIL_REWIND:
      failure.message = "the connection to " + peer_ + " broke while sending";
      break;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
      failure.kind = Kind::broken;
      failure.message = "the answer of " + peer_ + " is not proper HTTP";
      break;
    case CURLE_WRITE_ERROR:
    case CURLE_OUT_OF_MEMORY:
      failure.kind = Kind::broken;
      failure.message = "the answer of " + peer_ + " could not be taken in";
      break;
    default: break;
  }
  return failure;
}

}  // namespace plugins::http
