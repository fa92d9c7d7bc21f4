# agent_mutants(TABLE DIRECTORY dir PREFIX prefix [PROGRAM name] [SOURCES file…] LIBS target…): each entry of TABLE
# becomes a program PREFIX<name of the entry>, made of SOURCES and LIBS, in which one file of the core has that mistake, as dir/<its name>, or dir/<entry>/PROGRAM.
# The mutant's object is linked as such, so it defines every symbol for which the archive's member would have been taken;
# were both taken, the link would fail.
function(agent_mutants table)
  cmake_parse_arguments(ARG "" "DIRECTORY;PREFIX;PROGRAM" "SOURCES;LIBS" ${ARGN})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
  file(STRINGS ${table} heads REGEX "^(mutant|source): ")
  while(heads)
    list(POP_FRONT heads name source)
    string(REGEX REPLACE "^mutant: " "" name "${name}")
    string(REGEX REPLACE "^source: " "" source "${source}")
    get_filename_component(file ${source} NAME)
    set(generated ${CMAKE_CURRENT_BINARY_DIR}/${name}/${file})
    file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${name})
    add_custom_command(OUTPUT ${generated}
      COMMAND rmgr-mutate ${table} ${name} ${PROJECT_SOURCE_DIR} ${generated}
      DEPENDS rmgr-mutate ${table} ${PROJECT_SOURCE_DIR}/${source} VERBATIM)
    set(target ${ARG_PREFIX}${name})
    add_executable(${target} EXCLUDE_FROM_ALL ${generated} ${ARG_SOURCES})
    target_link_libraries(${target} PRIVATE ${ARG_LIBS})
    # A mistake may leave something unused, or do what a compiler warns of.
    target_compile_options(${target} PRIVATE -w)
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${ARG_DIRECTORY})
    if(ARG_PROGRAM)
      set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${ARG_DIRECTORY}/${name}
        OUTPUT_NAME ${ARG_PROGRAM})
    endif()
    add_dependencies(mutants ${target})
  endwhile()
endfunction()
