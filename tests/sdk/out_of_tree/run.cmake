# Installs the SDK into a staging prefix, builds PROJECT with nothing but it, and lets CHECK load the result.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN} failed:\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
run(${CMAKE_COMMAND} --install ${BUILD} --component sdk --prefix ${SCRATCH}/prefix)
run(${CMAKE_COMMAND} -S ${PROJECT} -B ${SCRATCH}/build -G Ninja -DCMAKE_CXX_COMPILER=${CXX}
  -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix)
run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
run(${CMAKE_COMMAND} -E cat ${SCRATCH}/build/plugins/stranger.manifest.json)
# A program built with a sanitizer cannot load a library built without.
if(CHECK)
  run(${CHECK} ${SCRATCH}/build/plugins/stranger.so stranger --schemas)
endif()
file(REMOVE_RECURSE ${SCRATCH})
