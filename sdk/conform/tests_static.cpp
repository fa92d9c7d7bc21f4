// static: what the file says, without loading it.
#include <algorithm>
#include <filesystem>

#include <sys/utsname.h>

#include "conform/elf.hpp"
#include "conform/files.hpp"
#include "conform/test.hpp"

namespace rmgr::conform {
namespace {

namespace fs = std::filesystem;

Elf library(const Context& context) {
  Elf elf = read_elf(context.plan.plugin);
  if (!elf.refusal.empty()) fail("The library cannot be used: " + elf.refusal + ".");
  return elf;
}

Elf entry(const Context& context) {
  Elf elf = library(context);
  if (!elf.has_entry) fail("The library has no object rmgr_plugin_entry of full size in its data.");
  return elf;
}

std::string version_text(unsigned major, unsigned minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

std::string is_library(Context& context) {
  library(context);
  return "It is a shared library for this kind of machine.";
}

std::string one_symbol(Context& context) {
  const Elf elf = library(context);
  const auto& names = elf.exported;
  if (std::find(names.begin(), names.end(), "rmgr_plugin_entry") == names.end())
    fail("It does not export rmgr_plugin_entry.");
  for (const std::string& name : names) {
    if (name != "rmgr_plugin_entry")
      fail("It also exports " + printable(name, 200) +
           "; hide everything but rmgr_plugin_entry with a version script.");
  }
  expect(elf.has_entry, "rmgr_plugin_entry is no data object.");
  return "rmgr_plugin_entry is its only exported symbol.";
}

std::string magic(Context& context) {
  expect(entry(context).entry.magic == RMGR_PLUGIN_MAGIC,
         "The entry object does not begin with the magic number.");
  return "The entry object begins with the magic number.";
}

std::string abi_major(Context& context) {
  const rmgr_plugin_entry_t found = entry(context).entry;
  expect(found.abi_major == RMGR_ABI_MAJOR,
         "It was built for ABI " + version_text(found.abi_major, found.abi_minor) +
             "; this suite knows major " + std::to_string(RMGR_ABI_MAJOR) + ".");
  return "It was built for ABI major " + std::to_string(RMGR_ABI_MAJOR) + ".";
}

std::string abi_minor(Context& context) {
  const rmgr_plugin_entry_t found = entry(context).entry;
  expect(found.need_host_minor <= found.abi_minor,
         "It needs a host of minor " + std::to_string(found.need_host_minor) +
             ", which is newer than the headers it was built with.");
  expect(found.need_host_minor <= RMGR_ABI_MINOR,
         "It needs a host of minor " + std::to_string(found.need_host_minor) + "; this suite knows " +
             version_text(RMGR_ABI_MAJOR, RMGR_ABI_MINOR) + ".");
  if (RMGR_ABI_MAJOR == 0 && found.abi_minor != RMGR_ABI_MINOR)
    fail("It was built for ABI " + version_text(found.abi_major, found.abi_minor) +
         "; while the major is 0 the minor must be " + std::to_string(RMGR_ABI_MINOR) + ".");
  return "It needs a host of minor " + std::to_string(found.need_host_minor) + " or later.";
}

std::string sizes(Context& context) {
  const Elf elf = entry(context);
  expect(elf.entry.struct_size >= sizeof(rmgr_plugin_entry_t),
         "The entry object says that it has " + std::to_string(elf.entry.struct_size) + " bytes instead of " +
             std::to_string(sizeof(rmgr_plugin_entry_t)) + ".");
  expect(elf.entry_size >= elf.entry.struct_size, "The entry object is smaller than its struct_size says.");
  if (!elf.has_descriptor)
    warn("The descriptor cannot be followed in the file; only the load group looks at it.");
  expect(elf.descriptor_size >= sizeof(rmgr_descriptor), "The descriptor is shorter than that of ABI 0.1.");
  return "Entry object and descriptor have the size of the ABI.";
}

Json read_manifest(const Context& context, fs::path& path) {
  path = context.plan.plugin;
  path.replace_extension(".manifest.json");
  const auto text = read_file(path.string());
  if (!text) fail("There is no " + path.filename().string() + " beside it; build it with rmgr_add_plugin.");
  const auto json = Json::parse(*text);
  if (!json || !json->is(Json::Kind::object)) fail("The manifest is no JSON object.");
  return *json;
}

std::string platform() {
  utsname system{};
  ::uname(&system);
  std::string name = std::string(system.sysname) + "-" + system.machine;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return name;
}

std::string manifest(Context& context) {
  fs::path path;
  const Json json = read_manifest(context, path);
  const Elf elf = entry(context);
  if (!elf.has_descriptor) warn("The descriptor cannot be followed in the file, so it was not compared.");
  const auto same = [&](const char* key, const std::string& said) {
    expect(json.at(key).as_text() == said, std::string("The manifest's ") + key + " is \"" +
                                               printable(json.at(key).as_text(), 100) +
                                               "\", but the library's is \"" + printable(said, 100) + "\".");
  };
  same("id", elf.id);
  same("version", elf.version);
  same("library", fs::path(context.plan.plugin).filename().string());
  same("platform", platform());
  expect(json.at("abi").at("major").as_integer() == elf.entry.abi_major &&
             json.at("abi").at("minor").as_integer() == elf.entry.abi_minor,
         "The manifest names another ABI version than the library.");
  std::vector<std::string> listed;
  for (const Json& one : json.at("interfaces").items())
    listed.push_back(one.as_text());
  std::vector<std::string> offered = elf.interfaces;
  std::sort(listed.begin(), listed.end());
  std::sort(offered.begin(), offered.end());
  expect(listed == offered, "The manifest lists other interfaces than the library offers.");
  return "Manifest and library agree.";
}

std::string text_relocations(Context& context) {
  expect(!library(context).text_relocations,
         "It has text relocations; compile every object of it with -fPIC.");
  return "It has no text relocations.";
}

std::string executable_stack(Context& context) {
  expect(!library(context).executable_stack, "It asks for an executable stack; link with -z noexecstack.");
  return "Its stack is not executable.";
}

std::string needed(Context& context) {
  const Elf elf = library(context);
  for (const std::string& name : elf.needed) {
    const std::string base = fs::path(name).filename().string();
    for (const char* ours : {"runner-manager", "librunner", "rmgr", "librmgr", "agent_", "libagent"}) {
      if (base.starts_with(ours))
        fail("It needs " + printable(name, 200) + ", a library of the daemon itself.");
    }
    if (name.starts_with('/')) warn("It needs " + printable(name, 200) + " by its absolute path.");
  }
  if (!elf.search_path.empty())
    warn("It has a search path of its own (" + printable(elf.search_path, 200) + ").");
  return "It needs " + std::to_string(elf.needed.size()) + " libraries, none of them the daemon's.";
}

}  // namespace

Tests static_tests() {
  return {
      {"static.library",
       "The file is a shared library for this kind of machine.",
       for_library,
       &is_library,
       {}},
      {"static.one_symbol",
       "rmgr_plugin_entry is the only exported symbol.",
       for_library,
       &one_symbol,
       {"static.library"}},
      {"static.magic",
       "The entry object begins with the magic number.",
       for_library,
       &magic,
       {"static.library"}},
      {"static.abi_major", "It was built for this ABI major.", for_library, &abi_major, {"static.magic"}},
      {"static.abi_minor",
       "It needs no newer host than it was built for, or than there is.",
       for_library,
       &abi_minor,
       {"static.magic", "static.abi_major"}},
      {"static.sizes",
       "Entry object and descriptor are as large as the ABI says.",
       for_library,
       &sizes,
       {"static.magic", "static.abi_major"}},
      {"static.manifest",
       "The manifest beside the library agrees with it.",
       for_library,
       &manifest,
       {"static.magic", "static.abi_major", "static.sizes"}},
      {"static.text_relocations",
       "Its code is not changed while it is loaded.",
       for_library,
       &text_relocations,
       {"static.library"}},
      {"static.executable_stack",
       "It does not ask for an executable stack.",
       for_library,
       &executable_stack,
       {"static.library"}},
      {"static.needed",
       "It does not need a library of the daemon.",
       for_library,
       &needed,
       {"static.library"}},
  };
}

}  // namespace rmgr::conform
