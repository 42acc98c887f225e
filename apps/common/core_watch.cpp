// The kernel counts the time that each thread was ready to run but had no core.

#include "common/core_watch.hpp"

#include <algorithm>
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

core_watch::core_watch() : began_(now()), waited_before_(waited_for_core()) {}

double core_watch::waited() const {
  auto const waited_after = waited_for_core();
  if (!waited_before_ || !waited_after) return unknown;
  // The scheduler has its own clock, which may be a little fast in a short time.
  return std::min((*waited_after - *waited_before_) / (now() - began_), 1.0);
}

}  // namespace apps
