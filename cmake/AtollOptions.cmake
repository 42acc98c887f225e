# Build-wide settings. Warnings and sanitizers are private to this build; nothing here reaches consumers.

set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# Atoll is written in C++20; a newer standard may be asked for, an older one may not.
if(NOT CMAKE_CXX_STANDARD)
  set(CMAKE_CXX_STANDARD 20)
endif()
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

if(PROJECT_IS_TOP_LEVEL)
  # One folder for every program of the build tree, as it will be in the install tree.
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
  set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
  # Installed programs find the library beside them, wherever the prefix is moved to.
  if(NOT CMAKE_INSTALL_RPATH)
    file(RELATIVE_PATH _bin_to_lib /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
    set(CMAKE_INSTALL_RPATH "$ORIGIN/${_bin_to_lib}")
  endif()
endif()

# What programs are linked with outside CMake: upcxx-meta and the pkg-config files say it.
set(ATOLL_LINKED_WITH "-latoll -pthread")
if(NOT BUILD_SHARED_LIBS)
  foreach(library IN LISTS CMAKE_DL_LIBS)
    string(APPEND ATOLL_LINKED_WITH " -l${library}")
  endforeach()
endif()

if(NOT CMAKE_CXX_COMPILER_LAUNCHER AND PROJECT_IS_TOP_LEVEL)
  find_program(ATOLL_CCACHE ccache)
  mark_as_advanced(ATOLL_CCACHE)
  if(ATOLL_CCACHE)
    # Precompiled headers are found in the cache, too; and what is not there is not preprocessed first.
    set(_launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1 ${ATOLL_CCACHE})
    set(CMAKE_C_COMPILER_LAUNCHER ${_launcher})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${_launcher})
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${_launcher})
  endif()
endif()

# Modes of the programs in this build tree (tests, applications, benchmarks). An installed library serves every
# mode; there, the consumer chooses (see UPCXXConfig.cmake.in).
if(CMAKE_BUILD_TYPE MATCHES "^(Release|RelWithDebInfo|MinSizeRel)$")
  set(_codemode opt)
else()
  set(_codemode debug)
endif()
set(ATOLL_CODEMODE ${_codemode} CACHE STRING "Code mode of programs in the build tree: debug (checked) or opt")
set_property(CACHE ATOLL_CODEMODE PROPERTY STRINGS debug opt)
set(ATOLL_THREADMODE seq CACHE STRING "Thread mode of programs in the build tree: seq or par")
set_property(CACHE ATOLL_THREADMODE PROPERTY STRINGS seq par)
if(NOT ATOLL_CODEMODE MATCHES "^(debug|opt)$")
  message(FATAL_ERROR "ATOLL_CODEMODE is '${ATOLL_CODEMODE}'; it must be debug or opt")
endif()
if(NOT ATOLL_THREADMODE MATCHES "^(seq|par)$")
  message(FATAL_ERROR "ATOLL_THREADMODE is '${ATOLL_THREADMODE}'; it must be seq or par")
endif()

option(ATOLL_WERROR "Treat warnings as errors" OFF)
add_library(atoll_warnings INTERFACE)
set(_not_cuda "$<NOT:$<COMPILE_LANGUAGE:CUDA>>")
target_compile_options(atoll_warnings INTERFACE
  "$<${_not_cuda}:-Wall;-Wextra;-Wshadow;-Wnon-virtual-dtor;-Wcast-qual>")
if(ATOLL_WERROR)
  target_compile_options(atoll_warnings INTERFACE $<${_not_cuda}:-Werror>)
endif()

set(ATOLL_SANITIZE "" CACHE STRING "Sanitizers for the whole build: address,undefined or thread")
set_property(CACHE ATOLL_SANITIZE PROPERTY STRINGS "" "address,undefined" "thread")
if(ATOLL_SANITIZE)
  add_compile_options(-fsanitize=${ATOLL_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${ATOLL_SANITIZE})
  if(ATOLL_SANITIZE MATCHES "undefined")
    # AddressSanitizer reports null pointers itself; the other two are no dangers here. A tenth of the compilation.
    add_compile_options(-fno-sanitize-recover=undefined -fno-sanitize=null,object-size,vptr)
    add_link_options(-fno-sanitize-recover=undefined)
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      # Calls by pointers between libraries, in which the same type has two descriptions, and of functions that dlsym found.
      add_compile_options(-fno-sanitize=function)
    endif()
  endif()
  if(ATOLL_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC warns that TSan does not model fences; the structures it checks use ordered accesses.
    add_compile_options(-Wno-tsan)
  endif()
endif()
