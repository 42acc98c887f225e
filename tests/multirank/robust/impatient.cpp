// Ranks ask others why they wait, all the time instead of twice a second. Whoever has left must not be asked any more:
// who did took its end for a loss.

#include <cstdint>

#include <upcxx/upcxx.hpp>

#include "engine/progress/progress_engine.hpp"

int main() {
  for (int period = 0; period < 30; ++period) {
    upcxx::init();
    atl::engine::progress_engine::here().suspicious_ns = 1'000;
    for (int i = 0; i < 10; ++i) upcxx::barrier();
    upcxx::finalize();
  }
}
