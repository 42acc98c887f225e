#include "upcxx/assert.hpp"

#include <string>

#include "base/error.hpp"

namespace atl::rt {

void assertion_failure::stop() noexcept {
  std::string const message(text_.text());
  atl::stop(format("assertion failed: %s%s%s\n  in %s at %s:%d", condition_, message.empty() ? "" : ": ",
                   message.c_str(), function_, file_, line_));
}

}  // namespace atl::rt
