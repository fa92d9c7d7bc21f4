# rmgr_add_plugin(NAME ID id VERSION x.y.z INTERFACES interface… SOURCES file…
#                 [VENDOR text] [OUTPUT_DIRECTORY directory])
#
# Makes the plugin library <id>.so as target NAME, which exports rmgr_plugin_entry and nothing else, and writes its
# manifest <id>.manifest.json beside it, by default into ${CMAKE_BINARY_DIR}/plugins. INTERFACES are
# execution-provider, package-source and gateway, as far as the sources offer them. The target links rmgr::sdk only;
# link your own libraries with target_link_libraries(NAME PRIVATE …).

# The ABI version has one source, the header. RMGR_SDK_INCLUDE_DIR is where the headers are.
if(NOT RMGR_SDK_INCLUDE_DIR)
  get_filename_component(RMGR_SDK_INCLUDE_DIR ${CMAKE_CURRENT_LIST_DIR}/../include ABSOLUTE)
endif()
foreach(part MAJOR MINOR)
  file(STRINGS ${RMGR_SDK_INCLUDE_DIR}/rmgr/abi/base.h line REGEX "^#define RMGR_ABI_${part} [0-9]+$")
  if(NOT line MATCHES "([0-9]+)$")
    message(FATAL_ERROR "${RMGR_SDK_INCLUDE_DIR}/rmgr/abi/base.h does not define RMGR_ABI_${part}")
  endif()
  set(RMGR_ABI_${part} ${CMAKE_MATCH_1})
  set_property(GLOBAL PROPERTY RMGR_ABI_${part} ${CMAKE_MATCH_1})
endforeach()

function(rmgr_add_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "ID;VERSION;VENDOR;OUTPUT_DIRECTORY" "INTERFACES;SOURCES")
  foreach(needed ID VERSION INTERFACES SOURCES)
    if(NOT ARG_${needed})
      message(FATAL_ERROR "rmgr_add_plugin(${name}): ${needed} is missing")
    endif()
  endforeach()
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "rmgr_add_plugin(${name}): unknown words: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_ID MATCHES "^[a-z0-9][a-z0-9-]*$")
    message(FATAL_ERROR "rmgr_add_plugin(${name}): ID must be lower-case letters, digits and dashes")
  endif()
  if(NOT ARG_VERSION MATCHES "^[0-9]+\\.[0-9]+\\.[0-9]+$")
    message(FATAL_ERROR "rmgr_add_plugin(${name}): VERSION must be MAJOR.MINOR.PATCH")
  endif()
  if(NOT ARG_OUTPUT_DIRECTORY)
    set(ARG_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/plugins)
  endif()

  add_library(${name} MODULE ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE rmgr::sdk)
  if(CMAKE_CXX_COMPILER_LOADED)
    target_compile_features(${name} PRIVATE cxx_std_20)
  endif()
  target_compile_definitions(${name} PRIVATE RMGR_PLUGIN_ID="${ARG_ID}" RMGR_PLUGIN_VERSION="${ARG_VERSION}"
    RMGR_PLUGIN_VENDOR="${ARG_VENDOR}")
  set_target_properties(${name} PROPERTIES PREFIX "" OUTPUT_NAME ${ARG_ID}
    LIBRARY_OUTPUT_DIRECTORY ${ARG_OUTPUT_DIRECTORY}
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON)
  if(UNIX)
    # A unique symbol would be shared between plugins, whatever their visibility; clang never makes one.
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>)
    set(map ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/rmgr-plugin.map)
    target_link_options(${name} PRIVATE LINKER:--version-script=${map} LINKER:--exclude-libs,ALL LINKER:-z,now)
    set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS ${map})
    # A sanitizer's runtime stays undefined in a library until the program brings it.
    if(NOT RMGR_SANITIZE AND NOT "${CMAKE_CXX_FLAGS} ${CMAKE_MODULE_LINKER_FLAGS}" MATCHES "-fsanitize=")
      target_link_options(${name} PRIVATE LINKER:-z,defs)
    endif()
  endif()

  string(TOLOWER "${CMAKE_SYSTEM_PROCESSOR}" processor)
  string(REGEX REPLACE "^(amd64|x64)$" "x86_64" processor "${processor}")
  string(REGEX REPLACE "^arm64$" "aarch64" processor "${processor}")
  string(TOLOWER "${CMAKE_SYSTEM_NAME}" system)
  list(TRANSFORM ARG_INTERFACES REPLACE "^(.+)$" "\"rmgr.\\1/1\"")
  list(JOIN ARG_INTERFACES ", " interfaces)
  get_property(major GLOBAL PROPERTY RMGR_ABI_MAJOR)
  get_property(minor GLOBAL PROPERTY RMGR_ABI_MINOR)
  file(GENERATE OUTPUT ${ARG_OUTPUT_DIRECTORY}/${ARG_ID}.manifest.json CONTENT "{
  \"id\": \"${ARG_ID}\",
  \"version\": \"${ARG_VERSION}\",
  \"library\": \"$<TARGET_FILE_NAME:${name}>\",
  \"platform\": \"${system}-${processor}\",
  \"abi\": {\"major\": ${major}, \"minor\": ${minor}},
  \"interfaces\": [${interfaces}]
}
")
endfunction()

# rmgr_add_plugin_test(NAME PLUGIN target SOURCES file…)
#
# Makes a test program of the plugin's own sources and SOURCES, linked with rmgr::testing, and adds it to ctest. So the
# test has the plugin's entry as rmgr_plugin_entry and may include its headers. It gets RMGR_PLUGIN_LIBRARY, the path
# of the built library, for tests that load that. Libraries that the plugin links are linked here too.
function(rmgr_add_plugin_test name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "PLUGIN" "SOURCES")
  if(NOT TARGET "${ARG_PLUGIN}" OR NOT ARG_SOURCES)
    message(FATAL_ERROR "rmgr_add_plugin_test(${name}): PLUGIN must be a target of rmgr_add_plugin, SOURCES some files")
  endif()
  get_target_property(sources ${ARG_PLUGIN} SOURCES)
  get_target_property(directory ${ARG_PLUGIN} SOURCE_DIR)
  list(TRANSFORM sources PREPEND "${directory}/" REGEX "^[^/$]")
  add_executable(${name} ${sources} ${ARG_SOURCES})
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_include_directories(${name} PRIVATE $<TARGET_PROPERTY:${ARG_PLUGIN},INCLUDE_DIRECTORIES>)
  target_compile_definitions(${name} PRIVATE $<TARGET_PROPERTY:${ARG_PLUGIN},COMPILE_DEFINITIONS>
    RMGR_PLUGIN_LIBRARY="$<TARGET_FILE:${ARG_PLUGIN}>")
  get_target_property(libraries ${ARG_PLUGIN} LINK_LIBRARIES)
  target_link_libraries(${name} PRIVATE ${libraries} rmgr::testing)
  add_dependencies(${name} ${ARG_PLUGIN})
  add_test(NAME ${name} COMMAND ${name})
endfunction()
