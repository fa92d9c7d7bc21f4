#include <algorithm>

#include "support/engine/client.hpp"
#include "support/engine/json.hpp"

namespace plugins::engine {
namespace {

constexpr std::size_t most_line = std::size_t{64} << 10;

// Progress is one JSON object a line. Only what failed is kept.
class PullProgress {
 public:
  void take(std::string_view piece) {
    while (!piece.empty()) {
      const std::size_t end = piece.find('\n');
      const std::string_view part = piece.substr(0, end);
      if (line_.size() + part.size() <= most_line) line_ += part;
      if (end == std::string_view::npos) return;
      finish();
      piece.remove_prefix(end + 1);
    }
  }
  void finish() {
    if (auto error = read_pull_error(line_)) error_ = std::move(error);
    line_.clear();
  }
  [[nodiscard]] const std::optional<std::string>& error() const { return error_; }

 private:
  std::string line_;
  std::optional<std::string> error_;
};

// name, and the tag or the digest behind it.
std::pair<std::string, std::string> split(const std::string& reference) {
  const std::size_t at = reference.find('@');
  if (at != std::string::npos) return {reference.substr(0, at), reference.substr(at + 1)};
  const std::size_t slash = reference.rfind('/');
  const std::size_t colon = reference.find(':', slash == std::string::npos ? 0 : slash);
  if (colon == std::string::npos) return {reference, "latest"};
  return {reference.substr(0, colon), reference.substr(colon + 1)};
}

// A name's slashes belong to the path.
std::string path_of(const std::string& reference) {
  std::string out;
  std::size_t from = 0;
  while (true) {
    const std::size_t slash = reference.find('/', from);
    out += percent_encode(reference.substr(from, slash - from));
    if (slash == std::string::npos) return out;
    out += '/';
    from = slash + 1;
  }
}

}  // namespace

std::optional<Image> Client::inspect_image(const rmgr::Call& call, const std::string& reference) {
  Request made;
  made.method = "GET";
  made.target = "/images/" + path_of(reference) + "/json";
  const Response answer = send(call, std::move(made));
  if (answer.status == 404) return std::nullopt;
  if (answer.status != 200) throw refused("show the image " + reference, answer);
  return read_image(answer.body);
}

void Client::pull_image(const rmgr::Call& call, const std::string& reference, const std::string& credential,
                        const std::string& platform) {
  const auto [name, tag] = split(reference);
  Request made;
  made.method = "POST";
  made.target = "/images/create?fromImage=" + percent_encode(name) + "&tag=" + percent_encode(tag);
  if (!platform.empty()) made.target += "&platform=" + percent_encode(platform);
  if (!credential.empty()) made.headers.emplace_back("X-Registry-Auth", credential);
  PullProgress progress;
  const Response answer = send(call, std::move(made), [&](std::string_view piece) { progress.take(piece); });
  progress.finish();
  if (answer.status != 200) throw pull_refused(reference, answer.status, read_message(answer.body));
  if (progress.error()) throw pull_refused(reference, answer.status, *progress.error());
}

}  // namespace plugins::engine
