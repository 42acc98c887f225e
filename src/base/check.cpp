#include <atoll/base/check.hpp>

#include "base/error.hpp"

namespace atl {

void check_failed(char const* pattern, ...) noexcept {
  va_list args;
  va_start(args, pattern);
  std::string const message = format_list(pattern, args);
  va_end(args);
  stop(message);
}

}  // namespace atl
