#include "runtime.hpp"

#include <chrono>

namespace hpgmg {

std::unique_ptr<runtime> make_upcxx_runtime(std::string_view communication);
std::unique_ptr<runtime> make_mpi_runtime(int* argc, char*** argv);

std::vector<std::string> communication_names() { return {"baseline", "+shm", "+local", "+vis", "+group", "bulk", "array"}; }

std::unique_ptr<runtime> make_runtime(std::string_view communication, int* /*argc*/, char*** /*argv*/) {
  return make_upcxx_runtime(communication);
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace hpgmg
