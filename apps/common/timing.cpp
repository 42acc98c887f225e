#include "common/timing.hpp"

#include <chrono>

namespace apps {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace apps
