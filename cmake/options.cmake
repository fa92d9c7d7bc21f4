# One interface target carries the project's compile and link rules; every target of ours links it.
add_library(rmgr_options INTERFACE)
target_compile_features(rmgr_options INTERFACE cxx_std_20)
target_compile_options(rmgr_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
  -Wno-sign-conversion -Wnon-virtual-dtor -Woverloaded-virtual -Werror -fstack-protector-strong)

set(RMGR_SANITIZE "" CACHE STRING "Sanitizers to build with: empty, address,undefined or thread")
if(RMGR_SANITIZE)
  target_compile_options(rmgr_options INTERFACE -fsanitize=${RMGR_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(rmgr_options INTERFACE -fsanitize=${RMGR_SANITIZE})
  if(RMGR_SANITIZE STREQUAL "thread")
    # g++ warns about each fence of Asio, which the thread sanitizer does not model.
    target_compile_options(rmgr_options INTERFACE -Wno-tsan)
  endif()
else()
  target_link_options(rmgr_options INTERFACE -Wl,-z,relro,-z,now)
endif()

find_program(RMGR_MOLD mold)
if(RMGR_MOLD)
  target_link_options(rmgr_options INTERFACE -fuse-ld=mold)
endif()

# Crash tests kill the daemon at named moments (points/crash_point.hpp). Never in a build for use.
option(RMGR_CRASH_POINTS "Build the points at which a crash test kills the daemon" OFF)
target_include_directories(rmgr_options INTERFACE ${PROJECT_SOURCE_DIR}/points)
if(RMGR_CRASH_POINTS)
  target_compile_definitions(rmgr_options INTERFACE RMGR_CRASH_POINTS)
endif()
