#include "upcxx/assert.hpp"

#include <sstream>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace atl::rt {

struct assertion_failure::text {
  std::ostringstream out;
};

assertion_failure::assertion_failure(char const* file, int line, char const* function,
                                     char const* condition) noexcept
    : text_(new text),  // NOLINT(bugprone-unhandled-exception-at-new): no memory ends the job as well
      file_(file),
      line_(line),
      function_(function),
      condition_(condition) {
  text_->out << std::boolalpha;
}

assertion_failure::~assertion_failure() { delete text_; }

assertion_failure& assertion_failure::operator<<(char const* value) {
  text_->out << (value != nullptr ? value : "(null)");
  return *this;
}

#define ATOLL_DEFINE_OUTPUT(type)                                \
  assertion_failure& assertion_failure::operator<<(type value) { \
    text_->out << value;                                         \
    return *this;                                                \
  }
ATOLL_DEFINE_OUTPUT(std::string_view)
ATOLL_DEFINE_OUTPUT(char)
ATOLL_DEFINE_OUTPUT(bool)
ATOLL_DEFINE_OUTPUT(int)
ATOLL_DEFINE_OUTPUT(unsigned)
ATOLL_DEFINE_OUTPUT(long)
ATOLL_DEFINE_OUTPUT(unsigned long)
ATOLL_DEFINE_OUTPUT(long long)
ATOLL_DEFINE_OUTPUT(unsigned long long)
ATOLL_DEFINE_OUTPUT(float)
ATOLL_DEFINE_OUTPUT(double)
ATOLL_DEFINE_OUTPUT(long double)
ATOLL_DEFINE_OUTPUT(void const*)
#undef ATOLL_DEFINE_OUTPUT

assertion_failure& assertion_failure::operator<<(std::ostream& (*manipulator)(std::ostream&)) {
  text_->out << manipulator;
  return *this;
}
assertion_failure& assertion_failure::operator<<(std::ios_base& (*manipulator)(std::ios_base&)) {
  text_->out << manipulator;
  return *this;
}

std::ostream& assertion_failure::stream() noexcept { return text_->out; }

void assertion_failure::stop() noexcept {
  std::string const message = text_->out.str();
  atl::stop(format("assertion failed: %s%s%s\n  in %s at %s:%d", condition_, message.empty() ? "" : ": ",
                   message.c_str(), function_, file_, line_));
}

}  // namespace atl::rt
