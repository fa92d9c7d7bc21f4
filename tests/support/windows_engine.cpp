#include "support/windows_engine.hpp"

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/engine/patience.hpp"
#include "support/engine/tar.hpp"

namespace scripted {
namespace {

using nlohmann::json;

const std::string digest = "sha256:" + std::string(64, 'e');

std::string decoded(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string query(const Asked& asked, const std::string& key) {
  const std::size_t begin = asked.line.find('?');
  if (begin == std::string::npos) return {};
  const std::string all = "&" + asked.line.substr(begin + 1);
  const std::size_t at = all.find("&" + key + "=");
  if (at == std::string::npos) return {};
  const std::size_t from = at + key.size() + 2;
  return decoded(all.substr(from, all.find('&', from) - from));
}

void say(const Line& line, int status, const json& body) { reply(status, body.dump())(Asked{}, line); }

void refuse(const Line& line, int status, const std::string& why) { say(line, status, {{"message", why}}); }

// Of output without a terminal each piece has a head: the stream, three zeros, and its size in four bytes.
std::string framed(const std::string& text) {
  std::string head("\1\0\0\0\0\0\0", 7);
  return head + static_cast<char>(text.size()) + text;
}

// What a Windows engine says to options of Linux.
std::string unsupported_option(const json& host) {
  for (const char* each : {"CapAdd", "CapDrop", "Init", "MemorySwap", "PidsLimit", "Privileged",
                           "ReadonlyRootfs", "SecurityOpt", "Tmpfs"}) {
    if (host.contains(each)) return std::string("invalid option: Windows does not support ") + each;
  }
  if (host.value("Isolation", "") != "hyperv") return "invalid isolation";
  return {};
}

json shown(const Box& box) {
  constexpr std::array words{"created", "running", "exited"};
  return {{"Id", box.id()},
          {"Name", "/" + box.wanted().name},
          {"Image", digest},
          {"Config", {{"Labels", box.wanted().labels}}},
          {"State",
           {{"Status", words.at(static_cast<std::size_t>(box.state()))}, {"ExitCode", box.exit_code()}}}};
}

constexpr const char* no_files_while_running =
    "filesystem operations against a running Hyper-V container are not supported";

}  // namespace

const std::string& WindowsEngine::image_name() {
  static const std::string name = "registry.test/windows/runner:1";
  return name;
}

const std::string& WindowsEngine::image() {
  static const std::string name = "registry.test/windows/runner@" + digest;
  return name;
}

WindowsEngine::WindowsEngine() {
  engine_.on("GET /_ping", {reply(200, "OK", "Api-Version: 1.43\r\nOstype: windows\r\n")});
  engine_.on("GET /version", {reply(200, R"({"Version":"1","ApiVersion":"1.43","MinAPIVersion":"1.24",
                                            "Os":"windows","Arch":"amd64"})")});
  engine_.on("GET /info",
             {reply(200, R"({"OSType":"windows","Driver":"windowsfilter","Isolation":"hyperv"})")});
  engine_.on("GET /networks", {reply(200, "[]")});
  engine_.on("POST /images/create", {reply(404, R"({"message":"manifest unknown"})")});
  engine_.on("GET /images/", {reply(404, R"({"message":"no such image"})")});
  const auto known = reply(200, json{{"Id", digest},
                                     {"RepoDigests", {image()}},
                                     {"Os", "windows"},
                                     {"Architecture", "amd64"},
                                     {"Config", {{"User", "ContainerAdministrator"}}}}
                                    .dump());
  engine_.on("GET /images/registry.test/windows/runner", {known});
  engine_.on("", {[this](const Asked& asked, const Line& line) { answer(asked, line); }});
}

WindowsEngine::~WindowsEngine() {
  std::map<std::string, Shared> left;
  {
    const std::lock_guard lock(mutex_);
    left = boxes_;
  }
  // So that no answer waits for a container any more.
  for (const auto& [id, box] : left)
    box->discard();
}

std::vector<std::string> WindowsEngine::changes() const {
  std::vector<std::string> all;
  for (const std::string& line : engine_.lines()) {
    if (!line.starts_with("GET ")) all.push_back(line.substr(0, line.find('?')));
  }
  return all;
}

std::size_t WindowsEngine::containers() const {
  const std::lock_guard lock(mutex_);
  return boxes_.size();
}

WindowsEngine::Shared WindowsEngine::find(const std::string& reference) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, box] : boxes_) {
    if (id == reference || box->wanted().name == reference) return box;
  }
  return nullptr;
}

void WindowsEngine::answer(const Asked& asked, const Line& line) {
  const std::string path = asked.line.substr(0, asked.line.find('?'));
  if (path == "POST /containers/create") return create(asked, line);
  if (path == "GET /containers/json") return list(asked, line);
  const std::size_t at = path.find(" /containers/");
  if (at == std::string::npos) return refuse(line, 404, "page not found");
  const std::string rest = path.substr(at + 13);
  const std::size_t slash = rest.find('/');
  const Shared box = find(decoded(rest.substr(0, slash)));
  if (!box) return refuse(line, 404, "No such container");
  act(asked, line, box, path.substr(0, at) + (slash == std::string::npos ? "" : rest.substr(slash)));
}

void WindowsEngine::create(const Asked& asked, const Line& line) {
  const json body = json::parse(asked.body);
  if (std::string why = unsupported_option(body.at("HostConfig")); !why.empty())
    return refuse(line, 400, why);
  Wanted wanted{query(asked, "name"), body.at("Image"), query(asked, "platform"), body.at("Entrypoint"),
                body.at("Cmd"),       body.at("Env"),   body.at("Labels")};
  if (find(wanted.name)) return refuse(line, 409, "Conflict. The container name is already in use");
  if (wanted.image != image()) return refuse(line, 404, "No such image");
  const std::lock_guard lock(mutex_);
  std::string id = std::to_string(++made_);
  id.insert(0, 64 - id.size(), '0');
  const std::string disk = disks_ / std::to_string(made_);
  std::filesystem::create_directories(disk);
  boxes_[id] = std::make_shared<Box>(id, std::move(wanted), disk);
  say(line, 201, {{"Id", id}, {"Warnings", json::array()}});
}

void WindowsEngine::list(const Asked& asked, const Line& line) {
  const json filters = json::parse(query(asked, "filters"));
  json all = json::array();
  const std::lock_guard lock(mutex_);
  for (const auto& [id, box] : boxes_) {
    bool fits = true;
    for (const std::string each : filters.at("label")) {
      const std::size_t sign = each.find('=');
      const auto found = box->wanted().labels.find(each.substr(0, sign));
      fits = fits && found != box->wanted().labels.end() && found->second == each.substr(sign + 1);
    }
    if (fits)
      all.push_back({{"Id", id}, {"Names", {"/" + box->wanted().name}}, {"Labels", box->wanted().labels}});
  }
  say(line, 200, all);
}

void WindowsEngine::act(const Asked& asked, const Line& line, const Shared& box, const std::string& action) {
  if (action == "GET/json") return say(line, 200, shown(*box));
  if (action == "PUT/archive") return put(asked, line, box);
  if (action == "GET/archive") return get(asked, line, box);
  if (action == "POST/attach") return attach(line, box);
  if (action == "DELETE") return remove(line, box);
  if (action == "POST/start") return reply(box->start() ? 204 : 304, "")(asked, line);
  if (action == "POST/kill") {
    if (!box->signal(query(asked, "signal") == "SIGKILL" ? SIGKILL : SIGTERM))
      return refuse(line, 409, "Container is not running");
    return reply(204, "")(asked, line);
  }
  if (action == "POST/wait") {
    box->wait();
    return say(line, 200, {{"StatusCode", box->exit_code()}});
  }
  refuse(line, 404, "page not found");
}

void WindowsEngine::attach(const Line& line, const Shared& box) {
  line.say("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
  const std::string heard = line.hear_all();
  if (box->take(heard)) line.say(framed("rmgr-secret-taken\r\n"));
}

void WindowsEngine::put(const Asked& asked, const Line& line, const Shared& box) {
  if (box->state() == Box::State::running) return refuse(line, 500, no_files_while_running);
  if (query(asked, "path") != "C:\\") return refuse(line, 404, "Could not find the file in container");
  const std::string command = "tar -x -f - -C '" + box->disk() + "'";
  FILE* const tar = ::popen(command.c_str(), "we");
  const bool written = std::fwrite(asked.body.data(), 1, asked.body.size(), tar) == asked.body.size();
  if (::pclose(tar) != 0 || !written) return refuse(line, 500, "the archive cannot be unpacked");
  reply(200, "")(asked, line);
}

void WindowsEngine::get(const Asked& asked, const Line& line, const Shared& box) {
  if (box->state() == Box::State::running) return refuse(line, 500, no_files_while_running);
  std::string path = query(asked, "path");
  std::replace(path.begin(), path.end(), '\\', '/');
  const std::string directory = box->disk() + path.substr(2);
  if (!path.starts_with("C:/") || !std::filesystem::is_directory(directory))
    return refuse(line, 404, "Could not find the file in container");
  const plugins::engine::Patience patience(std::chrono::seconds(30));
  plugins::engine::TarOptions options;
  options.prefix = path.substr(path.rfind('/') + 1);
  std::string body;
  plugins::engine::write_tar(patience.call(), directory, options,
                             [&](std::string_view piece) { body += piece; });
  reply(200, body)(asked, line);
}

void WindowsEngine::remove(const Line& line, const Shared& box) {
  box->discard();
  const std::lock_guard lock(mutex_);
  boxes_.erase(box->id());
  std::error_code ignored;
  std::filesystem::remove_all(box->disk(), ignored);
  reply(204, "")(Asked{}, line);
}

}  // namespace scripted
