#include "support/engine/json.hpp"

#include <nlohmann/json.hpp>

#include "rmgr/error.hpp"

namespace plugins::engine {
namespace {

using Json = nlohmann::json;
using rmgr::Error;
using rmgr::Status;

[[noreturn]] void malformed(const char* what) {
  throw Error(Status::bad_response,
              std::string("The container engine's answer about ") + what + " is not of the form of its API.");
}

template <class Reader>
auto read(const std::string& body, const char* what, Reader&& reader) {
  try {
    return reader(Json::parse(body));
  } catch (const Json::exception&) {
    malformed(what);
  }
}

// Engines leave out, or answer as null, what is empty.
std::string text(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? std::string() : found->get<std::string>();
}

bool flag(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

Labels labels_of(const Json& object) {
  const auto found = object.find("Labels");
  return found == object.end() || found->is_null() ? Labels() : found->get<Labels>();
}

std::vector<std::string> texts(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? std::vector<std::string>()
                                                   : found->get<std::vector<std::string>>();
}

std::string needed(const Json& object, const char* key) {
  std::string value = object.at(key).get<std::string>();
  if (value.empty()) throw Json::other_error::create(500, "empty", nullptr);
  return value;
}

std::string without_slash(std::string name) {
  if (name.starts_with('/')) name.erase(0, 1);
  return name;
}

ContainerStatus status_of(const Json& state) {
  const std::string word = needed(state, "Status");
  if (word == "created" || word == "configured" || word == "initialized") return ContainerStatus::created;
  if (word == "running" || word == "paused" || word == "restarting" || word == "stopping")
    return ContainerStatus::running;
  if (word == "exited" || word == "dead" || word == "stopped" || word == "removing")
    return ContainerStatus::exited;
  malformed("a container's state");
}

std::string backing_of(const Json& info) {
  const auto found = info.find("DriverStatus");
  if (found == info.end() || !found->is_array()) return {};
  for (const Json& pair : *found) {
    if (pair.is_array() && pair.size() == 2 && pair[0] == "Backing Filesystem")
      return pair[1].get<std::string>();
  }
  return {};
}

std::string base64_url(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t j = 0; j < 3; ++j)
      group = group << 8U | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    for (std::size_t j = 0; j < 4; ++j)
      out += j <= count ? digits[group >> (18 - 6 * j) & 63U] : '=';
  }
  return out;
}

// What confines a Linux container; a Windows engine refuses most of it.
void confine(const ContainerSpec& spec, Json& host) {
  host["CapDrop"] = {"ALL"};
  host["CapAdd"] = spec.add_capabilities;
  host["Privileged"] = false;
  host["ReadonlyRootfs"] = spec.read_only;
  host["Init"] = spec.init;
  host["Tmpfs"] = spec.tmpfs;
  if (!spec.new_privileges) host["SecurityOpt"] = {"no-new-privileges"};
  if (spec.memory_bytes > 0) host["MemorySwap"] = spec.memory_bytes;  // so that no swap is used beside it
  if (spec.pids > 0) host["PidsLimit"] = spec.pids;
}

}  // namespace

std::string read_message(const std::string& body) {
  const Json json = Json::parse(body, nullptr, false);
  if (json.is_object()) {
    for (const char* key : {"message", "cause"}) {
      const auto found = json.find(key);
      if (found != json.end() && found->is_string()) return found->get<std::string>();
    }
  }
  return body;
}

Version read_version(const std::string& body) {
  return read(body, "its version", [](const Json& json) {
    Version version;
    version.api = needed(json, "ApiVersion");
    version.oldest_api = text(json, "MinAPIVersion");
    version.os = text(json, "Os");
    version.architecture = text(json, "Arch");
    return version;
  });
}

Info read_info(const std::string& body) {
  return read(body, "itself", [](const Json& json) {
    Info info;
    info.driver = text(json, "Driver");
    info.backing = backing_of(json);
    info.os = text(json, "OSType");
    info.root = text(json, "DockerRootDir");
    info.rootless = flag(json, "Rootless");
    for (const std::string& option : texts(json, "SecurityOptions"))
      info.rootless = info.rootless || option.find("name=rootless") != std::string::npos;
    info.memory_limit = flag(json, "MemoryLimit");
    info.cpu_limit = flag(json, "CpuCfsQuota");
    info.pids_limit = flag(json, "PidsLimit");
    return info;
  });
}

Container read_container(const std::string& body) {
  return read(body, "a container", [](const Json& json) {
    Container container;
    container.id = needed(json, "Id");
    container.name = without_slash(text(json, "Name"));
    container.image = text(json, "Image");
    container.labels = labels_of(json.at("Config"));
    const Json& state = json.at("State");
    container.status = status_of(state);
    container.exit_code = state.value("ExitCode", std::int64_t{0});
    container.out_of_memory = flag(state, "OOMKilled");
    container.error = text(state, "Error");
    return container;
  });
}

std::vector<Listed> read_containers(const std::string& body) {
  return read(body, "its containers", [](const Json& json) {
    std::vector<Listed> all;
    for (const Json& one : json.get_ref<const Json::array_t&>()) {
      Listed listed{needed(one, "Id"), texts(one, "Names"), labels_of(one)};
      for (std::string& name : listed.names)
        name = without_slash(std::move(name));
      all.push_back(std::move(listed));
    }
    return all;
  });
}

std::vector<Listed> read_networks(const std::string& body) {
  return read(body, "its networks", [](const Json& json) {
    std::vector<Listed> all;
    for (const Json& one : json.get_ref<const Json::array_t&>())
      all.push_back({needed(one, "Id"), {needed(one, "Name")}, labels_of(one)});
    return all;
  });
}

std::vector<std::string> read_volumes(const std::string& body) {
  return read(body, "its volumes", [](const Json& json) {
    std::vector<std::string> names;
    const auto volumes = json.find("Volumes");
    if (volumes == json.end() || volumes->is_null()) return names;
    for (const Json& one : *volumes)
      names.push_back(needed(one, "Name"));
    return names;
  });
}

Image read_image(const std::string& body) {
  return read(body, "an image", [](const Json& json) {
    Image image;
    image.id = needed(json, "Id");
    if (!image.id.starts_with("sha256:")) image.id.insert(0, "sha256:");
    image.digests = texts(json, "RepoDigests");
    image.os = text(json, "Os");
    image.architecture = text(json, "Architecture");
    const auto config = json.find("Config");
    if (config != json.end() && config->is_object()) image.user = text(*config, "User");
    return image;
  });
}

std::string read_id(const std::string& body) {
  return read(body, "what it made", [](const Json& json) { return needed(json, "Id"); });
}

std::int64_t read_status_code(const std::string& body) {
  return read(body, "an exit", [](const Json& json) { return json.at("StatusCode").get<std::int64_t>(); });
}

std::optional<std::string> read_pull_error(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto error = json.find("error");
  if (error == json.end() || !error->is_string()) return std::nullopt;
  std::string reason = error->get<std::string>();
  if (reason.empty()) return std::nullopt;
  return reason;
}

std::string write_container(const ContainerSpec& spec) {
  const bool windows = !spec.isolation.empty();
  Json host = {
      {"NetworkMode", spec.network},
      {"RestartPolicy", {{"Name", "no"}}},
      {"LogConfig", {{"Type", "none"}, {"Config", Json::object()}}},
      {"AutoRemove", false},
  };
  if (spec.nano_cpus > 0) host["NanoCpus"] = spec.nano_cpus;
  if (spec.memory_bytes > 0) host["Memory"] = spec.memory_bytes;
  if (spec.disk_bytes > 0) host["StorageOpt"] = {{"size", std::to_string(spec.disk_bytes)}};
  if (windows)
    host["Isolation"] = spec.isolation;
  else
    confine(spec, host);
  Json json = {
      {"Image", spec.image},   {"Entrypoint", spec.entrypoint},
      {"Cmd", spec.command},   {"Env", spec.environment},
      {"User", spec.user},     {"WorkingDir", spec.directory},
      {"Labels", spec.labels}, {"OpenStdin", true},
      {"StdinOnce", true},     {"AttachStdin", true},
      {"AttachStdout", true},  {"AttachStderr", false},
      {"Tty", false},          {"HostConfig", host},
  };
  for (const std::string& path : spec.volumes)
    json["Volumes"][path] = Json::object();
  return json.dump();
}

std::string write_network(const std::string& name, const Labels& labels) {
  return Json{{"Name", name}, {"Driver", "bridge"}, {"CheckDuplicate", true}, {"Labels", labels}}.dump();
}

std::string write_label_filter(const Labels& labels) {
  std::vector<std::string> wanted;
  for (const auto& [key, value] : labels)
    wanted.push_back(key + "=" + value);
  return Json{{"label", wanted}}.dump();
}

std::string write_credential(std::string_view user, std::string_view password, std::string_view server) {
  const Json json = {{"username", user}, {"password", password}, {"serveraddress", server}};
  return base64_url(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace plugins::engine
