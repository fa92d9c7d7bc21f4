// The one header that a plugin's main file includes. In exactly one source file, at namespace scope:
//
//   RMGR_PLUGIN(MyProvider, MyGateway)
//
// lists the component classes (at most one for each interface) and defines the library's exported entry. Id,
// version and vendor come from RMGR_PLUGIN_ID, RMGR_PLUGIN_VERSION and RMGR_PLUGIN_VENDOR, which
// rmgr_add_plugin() defines from the same words that it writes into the manifest.
#pragma once

#include <string_view>
#include <type_traits>

#include "rmgr/abi/entry.h"
#include "rmgr/execution_provider.hpp"
#include "rmgr/gateway.hpp"
#include "rmgr/package_source.hpp"

// What a plugin is built with is not what it needs: from 1.0 on define this to the lowest minor whose members
// the plugin cannot do without. It means nothing while the major is 0.
#ifndef RMGR_NEED_HOST_MINOR
#if RMGR_ABI_MAJOR == 0
#define RMGR_NEED_HOST_MINOR RMGR_ABI_MINOR
#else
#define RMGR_NEED_HOST_MINOR 0
#endif
#endif

namespace rmgr::detail {

// Interface id and table of one component class.
struct Offer {
  const char* id;
  const void* table;
};

template <class T>
consteval Offer offer() {
  constexpr int interfaces = (std::is_base_of_v<ExecutionProvider, T> ? 1 : 0) +
                             (std::is_base_of_v<PackageSource, T> ? 1 : 0) +
                             (std::is_base_of_v<Gateway, T> ? 1 : 0);
  static_assert(interfaces == 1,
                "a component derives from exactly one of ExecutionProvider, PackageSource and Gateway");
  if constexpr (std::is_base_of_v<ExecutionProvider, T>) {
    return {RMGR_INTERFACE_EXECUTION_PROVIDER, &execution_provider_table<T>};
  } else if constexpr (std::is_base_of_v<PackageSource, T>) {
    return {RMGR_INTERFACE_PACKAGE_SOURCE, &package_source_table<T>};
  } else {
    return {RMGR_INTERFACE_GATEWAY, &gateway_table<T>};
  }
}

// The interface beside the component's own that it offers, if any.
template <class T>
consteval Offer extension() {
  if constexpr (std::is_base_of_v<WarmStart, T>) {
    static_assert(std::is_base_of_v<ExecutionProvider, T>, "WarmStart belongs to an ExecutionProvider");
    return {RMGR_INTERFACE_WARM_START, &warm_start_table<T>};
  } else {
    return {nullptr, nullptr};
  }
}

template <class... Components>
struct Library {
  static_assert(sizeof...(Components) > 0, "RMGR_PLUGIN needs at least one component class");
  static constexpr Offer offers[] = {offer<Components>()...};
  static constexpr Offer extensions[] = {extension<Components>()...};
  static constexpr const char* interfaces[] = {offer<Components>().id..., nullptr};

  static consteval bool distinct() {
    for (std::size_t i = 0; i < sizeof...(Components); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (std::string_view(offers[i].id) == std::string_view(offers[j].id)) return false;
      }
    }
    return true;
  }
  static_assert(distinct(), "a library offers at most one component for each interface");

  static rmgr_status RMGR_CALL init(const rmgr_host* /*host*/, const rmgr_error* /*error*/) noexcept {
    return RMGR_OK;
  }
  static void RMGR_CALL deinit() noexcept {}
  static const void* RMGR_CALL get_interface(const char* id) noexcept {
    if (id == nullptr) return nullptr;
    for (const Offer& one : offers) {
      if (std::string_view(one.id) == id) return one.table;
    }
    for (const Offer& one : extensions) {
      if (one.id != nullptr && std::string_view(one.id) == id) return one.table;
    }
    return nullptr;
  }
  static constexpr rmgr_descriptor describe(const char* id, const char* version,
                                            const char* vendor) noexcept {
    return {size_of<rmgr_descriptor>(), 0, id, version, vendor, interfaces};
  }
  static constexpr rmgr_plugin_entry_t entry(const rmgr_descriptor* descriptor) noexcept {
    return {RMGR_PLUGIN_MAGIC,
            RMGR_ABI_MAJOR,
            RMGR_ABI_MINOR,
            RMGR_NEED_HOST_MINOR,
            0,
            size_of<rmgr_plugin_entry_t>(),
            descriptor,
            &Library::init,
            &Library::deinit,
            &Library::get_interface};
  }
};

}  // namespace rmgr::detail

#ifndef RMGR_PLUGIN_VENDOR
#define RMGR_PLUGIN_VENDOR ""
#endif
#define RMGR_PLUGIN(...)                                                                           \
  namespace {                                                                                      \
  constexpr rmgr_descriptor rmgr_this_descriptor = ::rmgr::detail::Library<__VA_ARGS__>::describe( \
      RMGR_PLUGIN_ID, RMGR_PLUGIN_VERSION, RMGR_PLUGIN_VENDOR);                                    \
  }                                                                                                \
  extern "C" {                                                                                     \
  constinit const rmgr_plugin_entry_t rmgr_plugin_entry =                                          \
      ::rmgr::detail::Library<__VA_ARGS__>::entry(&rmgr_this_descriptor);                          \
  }                                                                                                \
  static_assert(true, "")
