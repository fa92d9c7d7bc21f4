// What an ELF library says about itself, read from the file: nothing of it runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rmgr/abi/entry.h"

namespace rmgr::conform {

struct Elf {
  std::string refusal;  // why it is no shared library of this machine; nothing else is set then
  std::vector<std::string> exported;
  std::vector<std::string> needed;
  std::string search_path;  // DT_RPATH or DT_RUNPATH
  bool text_relocations = false;
  bool executable_stack = true;  // also where the file says nothing about its stack
  // The entry object, with the fields that are no pointers.
  bool has_entry = false;
  std::uint64_t entry_size = 0;  // of the symbol
  rmgr_plugin_entry_t entry{};
  // What its descriptor says, as far as it can be followed in the file.
  bool has_descriptor = false;
  std::uint32_t descriptor_size = 0;
  std::string id, version, vendor;
  std::vector<std::string> interfaces;
};

[[nodiscard]] Elf read_elf(const std::string& path);

}  // namespace rmgr::conform
