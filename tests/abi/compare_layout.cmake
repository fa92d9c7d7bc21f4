# Runs PROGRAM and compares its output with the file GOLDEN.
execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE printed RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} failed: ${code}")
endif()
file(READ ${GOLDEN} golden)
if(NOT printed STREQUAL golden)
  file(WRITE ${PROGRAM}.printed "${printed}")
  message(FATAL_ERROR "The layout of the ABI changed: compare ${PROGRAM}.printed with ${GOLDEN}. Structs grow at the "
    "end only, and only with a new minor version.")
endif()
