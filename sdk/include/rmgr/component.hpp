// What every component class has in common, and the trampolines that make and unmake its instances.
//
// A component class
//  - derives from exactly one of rmgr::ExecutionProvider, rmgr::PackageSource, rmgr::Gateway;
//  - is constructible from (rmgr::Host, std::string_view config_json). The JSON already satisfies the schema.
//  The
//    constructor does no network and changes nothing; throw rmgr::Error to refuse;
//  - has `static constexpr std::string_view config_schema`, a JSON Schema in the host's documented subset;
//  - has `static constexpr std::uint32_t flags`, RMGR_COMPONENT_* and the interface's own bits.
// Without RMGR_COMPONENT_CONCURRENT the host never runs two calls of one lane at once, but calls of the
// ordinary and of the control lane may overlap, so state that both use needs a lock.
#pragma once

#include <concepts>
#include <memory>
#include <string_view>

#include "rmgr/host.hpp"

namespace rmgr {

template <class T, class Interface>
concept ComponentOf =
    std::derived_from<T, Interface> && std::constructible_from<T, Host, std::string_view> && requires {
  { T::config_schema } -> std::convertible_to<std::string_view>;
  { T::flags } -> std::convertible_to<std::uint32_t>;
};

namespace detail {

// An instance is always kept as a pointer to its interface class, so that one trampoline serves every
// component.
template <class Interface>
Interface& instance(rmgr_instance* self) noexcept {
  return *reinterpret_cast<Interface*>(self);
}

template <class T, class Interface>
struct Making {
  static rmgr_str RMGR_CALL config_schema() noexcept { return to_abi(std::string_view(T::config_schema)); }
  static rmgr_status RMGR_CALL create(const rmgr_instance_host* host, rmgr_str config, rmgr_instance** out,
                                      const rmgr_error* error) noexcept {
    return guard(error, [&] {
      std::unique_ptr<Interface> made = std::make_unique<T>(Host(host), from_abi(config));
      *out = reinterpret_cast<rmgr_instance*>(made.release());
    });
  }
  static void RMGR_CALL destroy(rmgr_instance* self) noexcept { delete &instance<Interface>(self); }
};

// The common head of an interface struct of type Table.
template <class T, class Interface, class Table>
constexpr rmgr_component component() noexcept {
  static_assert(
      ComponentOf<T, Interface>,
      "a component needs a constructor from (rmgr::Host, std::string_view), and static constexpr members "
      "config_schema and flags");
  using Made = Making<T, Interface>;
  return {size_of<Table>(), T::flags, &Made::config_schema, &Made::create, &Made::destroy};
}

}  // namespace detail
}  // namespace rmgr
