#pragma once

/// An MPI library in this process, if there is one. No header and no library of MPI: what is there is asked by name.

#include <dlfcn.h>

#include <cstdint>
#include <string>

namespace atl::bootstrap::mpi {

/// A function or object of the process, or null.
template <class Function>
Function* find(char const* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
}

enum class state : std::uint8_t { absent, before, active, after };
/// Whether MPI_Init has been called, and MPI_Finalize.
state where_it_is();

/// Whether this thread called MPI_Init.
bool is_main_thread();

/// As MPI_Get_library_version says; empty where that is not there.
std::string library_name();

/// Of MPICH's family, whose handles are numbers: MPICH itself, Intel MPI, MVAPICH.
bool is_of_mpich();
inline constexpr int mpich_comm_world = 0x44000000;
inline constexpr int mpich_int = 0x4c000405;
inline constexpr int mpich_byte = 0x4c00010d;

/// Ranks of MPI_COMM_WORLD while MPI is active; 0 where that cannot be asked.
int world_size();

}  // namespace atl::bootstrap::mpi
