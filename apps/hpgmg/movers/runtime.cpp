#include "movers/runtime.hpp"

namespace hpgmg {

std::unique_ptr<runtime> make_upcxx_runtime(std::string_view communication);
#if defined(HPGMG_HAS_MPI)
std::unique_ptr<runtime> make_mpi_runtime(int* argc, char*** argv);
#endif

std::vector<std::string> communication_names() {
  return {
    "baseline", "+shm", "+local", "+vis", "+group", "bulk",
#if defined(HPGMG_HAS_MPI)
        "mpi",
#endif
        "array"
  };
}

std::unique_ptr<runtime> make_runtime(std::string_view communication, [[maybe_unused]] int* argc,
                                      [[maybe_unused]] char*** argv) {
#if defined(HPGMG_HAS_MPI)
  if (communication == "mpi") return make_mpi_runtime(argc, argv);
#endif
  return make_upcxx_runtime(communication);
}

}  // namespace hpgmg
