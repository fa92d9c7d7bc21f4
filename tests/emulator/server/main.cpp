#include <charconv>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "server/app.hpp"

namespace {

constexpr std::string_view kUsage =
    "usage: github-emulator [--port N] [--bind ADDRESS] [--token TOKEN] [--package FILE.tar.gz]...\n"
    "                       [--target OWNER/REPOSITORY]... [--runner-url URL] [--offline-after MS]\n"
    "                       [--accept-within MS] [--lost-after MS] [--stop-on-input-end]\n"
    "A GitHub on loopback, for tests. The first line of output is {\"port\":N,\"url\":\"...\"}.\n"
    "{port} in --runner-url stands for the port that was chosen.\n";

struct Options {
  std::string bind = "127.0.0.1";
  std::uint16_t port = 0;
  bool stop_on_input_end = false;
  std::vector<std::string> packages;
  std::vector<std::string> targets;
  emulator::Settings settings;
};

template <class Number>
Number number(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw std::runtime_error("not a number in range: " + std::string(text));
  }
  return value;
}

// Nothing when only the usage was asked for.
std::optional<Options> read_options(const std::vector<std::string>& words) {
  Options options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--help") return std::nullopt;
    if (word == "--stop-on-input-end") {
      options.stop_on_input_end = true;
      continue;
    }
    if (i + 1 >= words.size()) throw std::runtime_error("unknown option or missing value: " + word);
    const std::string& value = words[++i];
    if (word == "--port")
      options.port = number<std::uint16_t>(value);
    else if (word == "--bind")
      options.bind = value;
    else if (word == "--token")
      options.settings.token = value;
    else if (word == "--package")
      options.packages.push_back(value);
    else if (word == "--target")
      options.targets.push_back(value);
    else if (word == "--runner-url")
      options.settings.runner_url = value;
    else if (word == "--offline-after")
      options.settings.offline_after_ms = number<std::int64_t>(value);
    else if (word == "--accept-within")
      options.settings.accept_within_ms = number<std::int64_t>(value);
    else if (word == "--lost-after")
      options.settings.lost_after_ms = number<std::int64_t>(value);
    else
      throw std::runtime_error("unknown option: " + word);
  }
  return options;
}

int run(Options options) {
  emulator::HttpServer server(options.bind, options.port);
  const std::string port = std::to_string(server.port());
  const bool six = options.bind.find(':') != std::string::npos;
  options.settings.url = "http://" + (six ? "[" + options.bind + "]" : options.bind) + ":" + port;
  if (options.settings.runner_url.empty()) options.settings.runner_url = options.settings.url;
  if (const auto at = options.settings.runner_url.find("{port}"); at != std::string::npos) {
    options.settings.runner_url.replace(at, 6, port);
  }
  emulator::Packages packages;
  for (const auto& file : options.packages)
    packages.offer(file, "");
  const std::string url = options.settings.url;
  emulator::App app(server, std::move(options.settings), std::move(packages));
  for (const auto& target : options.targets)
    app.world().add_repository(target);
  server.serve([&app](emulator::Request request, const std::shared_ptr<emulator::Exchange>& exchange) {
    app.handle(std::move(request), exchange);
  });
  server.stop_on_signals();
  if (options.stop_on_input_end) server.stop_on_input_end();
  std::cout << "{\"port\":" << port << ",\"url\":\"" << url << "\"}" << std::endl;
  server.run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    auto options = read_options({argv + 1, argv + argc});
    if (!options) {
      std::cout << kUsage;
      return 0;
    }
    return run(std::move(*options));
  } catch (const std::exception& error) {
    std::cerr << "github-emulator: " << error.what() << "\n" << kUsage;
    return 2;
  }
}
