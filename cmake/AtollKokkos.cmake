# Kokkos, if it is found: Debian's package, or the one in Kokkos_ROOT. Sets ATOLL_HAVE_KOKKOS, and ATOLL_KOKKOS_CUDA if its
# default back end is CUDA; see docs/guide/memory-kinds.md and scripts/kokkos_cuda.sh.
#
#   atoll_use_kokkos(target sources...)   links Kokkos; these sources include its headers, and with CUDA nvcc compiles them

include_guard(GLOBAL)
include(AtollCuda)

# A Kokkos with CUDA would have every file compiled by its own script.
set(Kokkos_LAUNCH_COMPILER OFF)
atoll_dependency(KOKKOS "Kokkos" PACKAGE Kokkos TARGET Kokkos::kokkos DEBIAN libtrilinos-kokkos-dev)

# Debian's package (Trilinos 13.2, Kokkos 3.4.01) names an include directory that does not exist.
if(ATOLL_HAVE_KOKKOS AND Kokkos_INCLUDE_DIRS)
  get_target_property(_directories Kokkos::kokkos INTERFACE_INCLUDE_DIRECTORIES)
  foreach(_directory IN LISTS _directories)
    if(NOT _directory MATCHES "^\\$<" AND NOT EXISTS ${_directory})
      set_target_properties(Kokkos::kokkos PROPERTIES
        INTERFACE_INCLUDE_DIRECTORIES "${Kokkos_INCLUDE_DIRS}"
        INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${Kokkos_INCLUDE_DIRS}")
    endif()
  endforeach()
endif()

set(ATOLL_KOKKOS_CUDA FALSE)
if(ATOLL_HAVE_KOKKOS AND "CUDA" IN_LIST Kokkos_DEVICES)
  if(ATOLL_HAVE_CUDA)
    set(ATOLL_KOKKOS_CUDA TRUE)
    atoll_feature(KOKKOS_CUDA on "Kokkos computes on CUDA devices")
    # The C++ compiler links and compiles all but a few files, and knows none of the options for nvcc, some of which Kokkos gives to it.
    # The driver library is needed only if something calls it.
    set_target_properties(Kokkos::kokkoscore PROPERTIES INTERFACE_LINK_OPTIONS "LINKER:--as-needed" INTERFACE_COMPILE_OPTIONS "")
  else()
    set(ATOLL_HAVE_KOKKOS FALSE)
    atoll_feature(KOKKOS_CUDA off "this Kokkos needs a CUDA compiler, so it is not used")
  endif()
endif()

function(atoll_use_kokkos target)
  target_link_libraries(${target} PRIVATE Kokkos::kokkos)
  if(ATOLL_KOKKOS_CUDA)
    set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CUDA)
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX CUDA_RUNTIME_LIBRARY Shared)
    target_compile_options(${target} PRIVATE
      "$<$<COMPILE_LANGUAGE:CUDA>:--extended-lambda;--expt-relaxed-constexpr>")
  endif()
endfunction()
