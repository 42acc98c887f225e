#include "bootstrap/mpi_in_process.hpp"

#include <array>

// The world communicator is an object in Open MPI and a number in MPICH and its relatives; of others only the flags can be asked.

namespace atl::bootstrap::mpi {
namespace {

bool flag_of(char const* query) {
  auto* const ask = find<int(int*)>(query);
  int answer = 0;
  return ask != nullptr && ask(&answer) == 0 && answer != 0;
}

}  // namespace

state where_it_is() {
  if (find<int(int*)>("MPI_Initialized") == nullptr) return state::absent;
  if (!flag_of("MPI_Initialized")) return state::before;
  return flag_of("MPI_Finalized") ? state::after : state::active;
}

bool is_main_thread() { return flag_of("MPI_Is_thread_main"); }

std::string library_name() {
  auto* const ask = find<int(char*, int*)>("MPI_Get_library_version");
  std::array<char, 8192> text{};  // MPI_MAX_LIBRARY_VERSION_STRING is at most that in those we know
  int length = 0;
  return ask != nullptr && ask(text.data(), &length) == 0 ? text.data() : "";
}

bool is_of_mpich() {
  std::string const name = library_name();
  for (char const* const relative : {"MPICH", "Intel(R) MPI", "MVAPICH"}) {
    if (name.find(relative) != std::string::npos) return true;
  }
  return false;
}

int world_size() {
  int size = 0;
  if (void* const world = ::dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world")) {
    auto* const ask = find<int(void*, int*)>("MPI_Comm_size");
    return ask != nullptr && ask(world, &size) == 0 ? size : 0;
  }
  if (!is_of_mpich()) return 0;
  auto* const ask = find<int(int, int*)>("MPI_Comm_size");
  return ask != nullptr && ask(mpich_comm_world, &size) == 0 ? size : 0;
}

}  // namespace atl::bootstrap::mpi
