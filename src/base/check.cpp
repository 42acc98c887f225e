#include "upcxx/detail/check.hpp"

#include <cstdlib>

#include "base/error.hpp"

namespace atl {

void check_failed(char const* file, int line, char const* function, char const* condition,
                  char const* message) noexcept {
  // A signal, not an exit: the launcher reports it with a backtrace and ends the other ranks.
  warn("check", "%s\n  in %s at %s:%d: `%s` is false", message, function, file, line, condition);
  std::abort();
}

}  // namespace atl
