# Build-wide settings as interface targets, so that nothing leaks to consumers.

set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

add_library(atoll_warnings INTERFACE)
target_compile_options(atoll_warnings INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wcast-qual)
