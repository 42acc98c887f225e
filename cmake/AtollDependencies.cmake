# What the build can use, and whether it was found. Nothing is downloaded.
#
# Each optional dependency has a cache variable ATOLL_<NAME> = AUTO (use it if found), ON (it must be there) or OFF,
# and a result ATOLL_HAVE_<NAME>. The table at the end of the configuration says what was decided and why.

include_guard(GLOBAL)
set_property(GLOBAL PROPERTY ATOLL_FEATURES "")

# Adds a row to the closing table.
function(atoll_feature name state why)
  set_property(GLOBAL APPEND PROPERTY ATOLL_FEATURES "${name}|${state}|${why}")
endfunction()

# atoll_dependency(NAME "what for" PACKAGE Pkg TARGET Imported::target DEBIAN package [COMPONENTS ...])
macro(atoll_dependency name purpose)
  cmake_parse_arguments(_dep "" "PACKAGE;TARGET;DEBIAN" "COMPONENTS" ${ARGN})
  set(ATOLL_${name} AUTO CACHE STRING "${purpose}: AUTO (if found), ON (required) or OFF")
  set_property(CACHE ATOLL_${name} PROPERTY STRINGS AUTO ON OFF)
  set(ATOLL_HAVE_${name} FALSE)
  if(NOT ATOLL_${name} STREQUAL "AUTO" AND NOT ATOLL_${name})
    atoll_feature(${name} off "ATOLL_${name}=${ATOLL_${name}}")
  else()
    # A module may leave its target behind although it found nothing, as FindMPI does; a target that was there before is
    # what whoever adds this project wants to be used.
    set(_usable FALSE)
    if(TARGET ${_dep_TARGET})
      set(_usable TRUE)
    endif()
    if(_dep_COMPONENTS)
      find_package(${_dep_PACKAGE} QUIET COMPONENTS ${_dep_COMPONENTS})
    else()
      find_package(${_dep_PACKAGE} QUIET)
    endif()
    if(TARGET ${_dep_TARGET} AND (_usable OR ${_dep_PACKAGE}_FOUND))
      set(ATOLL_HAVE_${name} TRUE)
      if(${_dep_PACKAGE}_VERSION)
        set(_version " ${${_dep_PACKAGE}_VERSION}")
      else()
        set(_version "")
      endif()
      atoll_feature(${name} on "${purpose}: ${_dep_PACKAGE}${_version}")
    elseif(ATOLL_${name} STREQUAL "AUTO")
      atoll_feature(${name} off "${purpose}: ${_dep_PACKAGE} not found (Debian: ${_dep_DEBIAN})")
    else()
      message(FATAL_ERROR "ATOLL_${name}=${ATOLL_${name}}, but ${_dep_PACKAGE} was not found "
                          "(Debian package: ${_dep_DEBIAN}). Install it, or set ATOLL_${name} to AUTO or OFF.")
    endif()
  endif()
endmacro()

# Seen by whoever adds this project as a subdirectory, since our targets link some of them.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
set(THREADS_PREFER_PTHREAD_FLAG ON)
if(NOT TARGET Threads::Threads)  # else whoever adds this project has found it, and sees it
  find_package(Threads REQUIRED)
  if(CMAKE_VERSION VERSION_LESS 3.24)  # which does not know that variable
    set_target_properties(Threads::Threads PROPERTIES IMPORTED_GLOBAL TRUE)
  endif()
endif()

# Headers only: the libraries themselves are opened at run time, by jobs of several hosts.
atoll_dependency(UCX "network between hosts" PACKAGE Ucx TARGET Ucx::headers DEBIAN libucx-dev)
atoll_dependency(OFI "network between hosts" PACKAGE Libfabric TARGET Libfabric::headers DEBIAN libfabric-dev)

# The library alone needs none of what follows: whoever adds it as a subdirectory is not asked for it.
if(ATOLL_BUILD_TOOLS OR ATOLL_BUILD_APPS OR ATOLL_BUILD_BENCH)
  # Command lines of the tools and applications.
  atoll_dependency(CLI11 "command lines" PACKAGE CLI11 TARGET CLI11::CLI11 DEBIAN libcli11-dev)
  # Results of the applications, and `atoll report`.
  atoll_dependency(SQLITE "results in SQLite files" PACKAGE SQLite3 TARGET SQLite::SQLite3 DEBIAN libsqlite3-dev)
  # Results as text for other programs: `atoll bench --json`, `atoll-hpgmg --json`.
  atoll_dependency(JSON "results as JSON" PACKAGE nlohmann_json TARGET nlohmann_json::nlohmann_json
                   DEBIAN nlohmann-json3-dev)
endif()
# Sockets and NUMA nodes, which the launcher binds to.
if(ATOLL_BUILD_TOOLS)
  atoll_dependency(HWLOC "binding to sockets and NUMA nodes" PACKAGE Hwloc TARGET Hwloc::hwloc DEBIAN libhwloc-dev)
endif()
# Back ends of the heat simulation, and the bridge's tests and example.
if(ATOLL_BUILD_APPS OR ATOLL_BUILD_TESTS OR ATOLL_BUILD_EXAMPLES)
  include(AtollKokkos)
endif()
# Message-passing variants that ours are compared with.
if(ATOLL_BUILD_APPS OR ATOLL_BUILD_BENCH OR ATOLL_BUILD_TESTS)
  set(MPI_CXX_SKIP_MPICXX TRUE)
  atoll_dependency(MPI "message-passing variants" PACKAGE MPI TARGET MPI::MPI_CXX COMPONENTS CXX
                   DEBIAN libopenmpi-dev)
endif()
set(ATOLL_MPI_AVAILABLE ${ATOLL_HAVE_MPI} CACHE INTERNAL "for demo.sh")
if(ATOLL_BUILD_BENCH)
  atoll_dependency(BENCHMARK "micro benchmarks" PACKAGE benchmark TARGET benchmark::benchmark
                   DEBIAN libbenchmark-dev)
endif()
if(ATOLL_BUILD_TESTS)
  atoll_dependency(GTEST "tests" PACKAGE GTest TARGET GTest::gtest DEBIAN "libgtest-dev libgmock-dev")
endif()
