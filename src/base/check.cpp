#include "upcxx/detail/check.hpp"

#include "base/error.hpp"

namespace atl {

void check_failed(char const* file, int line, char const* function, char const* condition,
                  char const* message) noexcept {
  fatal("check", "%s\n  in %s at %s:%d: `%s` is false", message, function, file, line, condition);
}

}  // namespace atl
