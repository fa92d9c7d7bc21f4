#include <dlfcn.h>

#include "hyperv/library_path.hpp"

namespace hyperv {

std::string beside_library(const std::string& name) {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&beside_library), &info) == 0 || info.dli_fname == nullptr)
    return {};
  const std::string library = info.dli_fname;
  const std::size_t slash = library.rfind('/');
  return slash == std::string::npos ? name : library.substr(0, slash + 1) + name;
}

}  // namespace hyperv
