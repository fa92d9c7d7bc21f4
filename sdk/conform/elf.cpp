#include "conform/elf.hpp"
#include "conform/files.hpp"

#include <elf.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <string_view>

namespace rmgr::conform {
namespace {

constexpr std::size_t most_bytes = std::size_t{512} << 20U;
constexpr std::size_t most_symbols = 1'000'000;
constexpr std::size_t most_interfaces = 16;

#if defined(__x86_64__)
constexpr unsigned machine = EM_X86_64;
constexpr std::uint32_t relative = R_X86_64_RELATIVE;
#elif defined(__aarch64__)
constexpr unsigned machine = EM_AARCH64;
constexpr std::uint32_t relative = R_AARCH64_RELATIVE;
#else
constexpr unsigned machine = EM_NONE;
constexpr std::uint32_t relative = 0;
#endif

// Every read is checked against the file: it may be anything.
class Image {
 public:
  explicit Image(std::string bytes) : bytes_(std::move(bytes)) {}

  template <class T>
  [[nodiscard]] std::optional<T> at(std::uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  [[nodiscard]] std::string text_at(std::uint64_t offset, std::size_t most = 4096) const {
    if (offset >= bytes_.size()) return {};
    const std::string_view rest = std::string_view(bytes_).substr(offset, most);
    return std::string(rest.substr(0, rest.find('\0')));
  }
  void add_segment(const Elf64_Phdr& segment) { segments_.push_back(segment); }
  // Where an address of the loaded library is in the file.
  [[nodiscard]] std::optional<std::uint64_t> offset_of(std::uint64_t address) const {
    for (const Elf64_Phdr& one : segments_) {
      if (address >= one.p_vaddr && address - one.p_vaddr < one.p_filesz)
        return one.p_offset + (address - one.p_vaddr);
    }
    return std::nullopt;
  }
  template <class T>
  [[nodiscard]] std::optional<T> loaded(std::uint64_t address) const {
    const auto offset = offset_of(address);
    return offset ? at<T>(*offset) : std::nullopt;
  }
  [[nodiscard]] std::string loaded_text(std::uint64_t address) const {
    const auto offset = offset_of(address);
    return offset ? text_at(*offset, 256) : std::string();
  }

 private:
  std::string bytes_;
  std::vector<Elf64_Phdr> segments_;
};

struct Dynamic {
  std::uint64_t strings = 0, symbols = 0, relocations = 0, relocations_size = 0;
};

Dynamic read_dynamic(const Image& image, const Elf64_Phdr& segment, Elf& elf) {
  Dynamic dynamic;
  std::vector<std::uint64_t> needed;
  std::uint64_t search = 0;
  for (std::uint64_t at = 0; at + sizeof(Elf64_Dyn) <= segment.p_filesz; at += sizeof(Elf64_Dyn)) {
    const auto entry = image.at<Elf64_Dyn>(segment.p_offset + at);
    if (!entry || entry->d_tag == DT_NULL) break;
    switch (entry->d_tag) {
      case DT_STRTAB: dynamic.strings = entry->d_un.d_ptr; break;
      case DT_SYMTAB: dynamic.symbols = entry->d_un.d_ptr; break;
      case DT_RELA: dynamic.relocations = entry->d_un.d_ptr; break;
      case DT_RELASZ: dynamic.relocations_size = entry->d_un.d_val; break;
      case DT_NEEDED: needed.push_back(entry->d_un.d_val); break;
      case DT_RPATH:
      case DT_RUNPATH: search = entry->d_un.d_val; break;
      case DT_TEXTREL: elf.text_relocations = true; break;
      case DT_FLAGS: elf.text_relocations |= (entry->d_un.d_val & DF_TEXTREL) != 0; break;
      default: break;
    }
  }
  for (const std::uint64_t name : needed)
    elf.needed.push_back(image.loaded_text(dynamic.strings + name));
  if (search != 0) elf.search_path = image.loaded_text(dynamic.strings + search);
  return dynamic;
}

// Number of dynamic symbols, from the section that holds them: the dynamic segment does not say it.
std::uint64_t symbol_count(const Image& image, const Elf64_Ehdr& header) {
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const auto section = image.at<Elf64_Shdr>(header.e_shoff + std::uint64_t{i} * header.e_shentsize);
    if (section && section->sh_type == SHT_DYNSYM) return section->sh_size / sizeof(Elf64_Sym);
  }
  return 0;
}

// The pointer that will stand at `address` once the library is loaded at 0.
std::uint64_t pointer_at(const Image& image, const Dynamic& dynamic, std::uint64_t address) {
  for (std::uint64_t at = 0; at + sizeof(Elf64_Rela) <= dynamic.relocations_size; at += sizeof(Elf64_Rela)) {
    const auto one = image.loaded<Elf64_Rela>(dynamic.relocations + at);
    if (!one) break;
    if (one->r_offset != address) continue;
    const auto addend = static_cast<std::uint64_t>(one->r_addend);
    if (ELF64_R_TYPE(one->r_info) == relative) return addend;
    const auto symbol =
        image.loaded<Elf64_Sym>(dynamic.symbols + ELF64_R_SYM(one->r_info) * sizeof(Elf64_Sym));
    return symbol && symbol->st_value != 0 ? symbol->st_value + addend : 0;
  }
  return image.loaded<std::uint64_t>(address).value_or(0);
}

void read_descriptor(const Image& image, const Dynamic& dynamic, std::uint64_t entry, Elf& elf) {
  const auto pointer = [&](std::uint64_t address) { return pointer_at(image, dynamic, address); };
  const std::uint64_t at = pointer(entry + offsetof(rmgr_plugin_entry_t, descriptor));
  const auto size = image.loaded<std::uint32_t>(at);
  if (at == 0 || !size) return;
  elf.has_descriptor = true;
  elf.descriptor_size = *size;
  if (*size < sizeof(rmgr_descriptor)) return;
  const auto text = [&](std::size_t member) {
    const std::uint64_t address = pointer(at + member);
    return address == 0 ? std::string() : image.loaded_text(address);
  };
  elf.id = text(offsetof(rmgr_descriptor, id));
  elf.version = text(offsetof(rmgr_descriptor, version));
  elf.vendor = text(offsetof(rmgr_descriptor, vendor));
  const std::uint64_t list = pointer(at + offsetof(rmgr_descriptor, interfaces));
  for (std::size_t i = 0; list != 0 && i < most_interfaces; ++i) {
    const std::uint64_t one = pointer(list + i * sizeof(std::uint64_t));
    if (one == 0) break;
    elf.interfaces.push_back(image.loaded_text(one));
  }
}

void read_symbols(const Image& image, const Dynamic& dynamic, std::uint64_t count, Elf& elf) {
  for (std::uint64_t i = 0; i < count && i < most_symbols; ++i) {
    const auto symbol = image.loaded<Elf64_Sym>(dynamic.symbols + i * sizeof(Elf64_Sym));
    if (!symbol) break;
    const unsigned binding = ELF64_ST_BIND(symbol->st_info);
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS || binding == STB_LOCAL) continue;
    const std::string name = image.loaded_text(dynamic.strings + symbol->st_name);
    elf.exported.push_back(name);
    if (name != "rmgr_plugin_entry" || ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT) continue;
    const auto entry = image.loaded<rmgr_plugin_entry_t>(symbol->st_value);
    if (!entry) continue;
    elf.has_entry = true;
    elf.entry = *entry;
    elf.entry_size = symbol->st_size;
    read_descriptor(image, dynamic, symbol->st_value, elf);
  }
}

}  // namespace

Elf read_elf(const std::string& path) {
  Elf elf;
  auto bytes = read_file(path, most_bytes);
  if (!bytes) {
    elf.refusal = "the file cannot be read";
    return elf;
  }
  Image image(std::move(*bytes));
  const auto header = image.at<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
    elf.refusal = "it is no ELF file";
  else if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
           header->e_machine != machine)
    elf.refusal = "it is built for another kind of machine";
  else if (header->e_type != ET_DYN)
    elf.refusal = "it is no shared library";
  if (!elf.refusal.empty()) return elf;
  std::optional<Elf64_Phdr> dynamic_segment;
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    const auto segment = image.at<Elf64_Phdr>(header->e_phoff + std::uint64_t{i} * header->e_phentsize);
    if (!segment) break;
    if (segment->p_type == PT_LOAD) image.add_segment(*segment);
    if (segment->p_type == PT_DYNAMIC) dynamic_segment = segment;
    if (segment->p_type == PT_GNU_STACK) elf.executable_stack = (segment->p_flags & PF_X) != 0;
  }
  if (!dynamic_segment) {
    elf.refusal = "it has no dynamic section";
    return elf;
  }
  const Dynamic dynamic = read_dynamic(image, *dynamic_segment, elf);
  read_symbols(image, dynamic, symbol_count(image, *header), elf);
  return elf;
}

}  // namespace rmgr::conform
