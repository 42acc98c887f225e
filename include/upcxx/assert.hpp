#pragma once

/// UPCXX_ASSERT and UPCXX_ASSERT_ALWAYS: assertions for programs.

#include <iosfwd>

#include <upcxx/detail/config.hpp>
#include <upcxx/detail/text_output.hpp>

namespace atl::rt {

/// Collects the message of an assertion that failed.
class ATOLL_EXPORT assertion_failure {
 public:
  assertion_failure(char const* file, int line, char const* function, char const* condition) noexcept
      : file_(file), line_(line), function_(function), condition_(condition) {}
  assertion_failure(assertion_failure const&) = delete;
  assertion_failure& operator=(assertion_failure const&) = delete;

  template <typename T>
  assertion_failure& operator<<(T const& value) {
    text_ << value;
    return *this;
  }
  assertion_failure& operator<<(std::ostream& (*manipulator)(std::ostream&)) {
    text_ << manipulator;
    return *this;
  }

  /// Prints all of it with the rank to standard error and aborts.
  [[noreturn]] void stop() noexcept;

 private:
  text_output text_;
  char const* file_;
  int line_;
  char const* function_;
  char const* condition_;
};

/// Its operator binds less tightly than <<, so it sees the whole message, and makes the expression void.
struct assertion_end {
  [[noreturn]] void operator&(assertion_failure& failure) const noexcept { failure.stop(); }
  [[noreturn]] void operator&(assertion_failure&& failure) const noexcept { failure.stop(); }
};

}  // namespace atl::rt

/// UPCXX_ASSERT_ALWAYS(test) or UPCXX_ASSERT_ALWAYS(test, message): aborts with the message if `test` is
/// false. The message is anything that can be written to a stream, also a chain ("x is " << x); it is
/// evaluated only on failure. An expression of type void.
#define UPCXX_ASSERT_ALWAYS(test, ...)                                                                     \
  ((test) ? (void)0                                                                                        \
          : ::atl::rt::assertion_end() & ::atl::rt::assertion_failure(__FILE__, __LINE__, __func__, #test) \
                                             __VA_OPT__(<< __VA_ARGS__))

/// The same in code mode debug; in opt nothing, and the arguments are not evaluated.
/// UPCXX_ASSERT_ENABLED says which, as 1 or 0.
#if defined(UPCXX_CODEMODE) && UPCXX_CODEMODE
#define UPCXX_ASSERT_ENABLED 0
#define UPCXX_ASSERT(test, ...) ((void)0)
#else
#define UPCXX_ASSERT_ENABLED 1
#define UPCXX_ASSERT(test, ...) UPCXX_ASSERT_ALWAYS(test __VA_OPT__(, ) __VA_ARGS__)
#endif
