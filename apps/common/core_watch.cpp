// The kernel counts the time that each thread was ready to run but had no core.

#include "common/core_watch.hpp"

#include <fstream>

#include "common/timing.hpp"

namespace apps {
namespace {

std::optional<double> waited_for_core() {
  std::ifstream file("/proc/thread-self/schedstat");
  double ran = 0;
  double waited = 0;
  if (file >> ran >> waited) return waited * 1e-9;
  return std::nullopt;
}

}  // namespace

core_watch::core_watch() : waited_before_(waited_for_core()), began_(now()) {}

double core_watch::waited() const {
  auto const waited_after = waited_for_core();
  return waited_before_ && waited_after ? (*waited_after - *waited_before_) / (now() - began_) : unknown;
}

}  // namespace apps
