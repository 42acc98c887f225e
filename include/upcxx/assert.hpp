#pragma once

/// UPCXX_ASSERT and UPCXX_ASSERT_ALWAYS: assertions for programs.

#include <iosfwd>
#include <string_view>
#include <type_traits>

#include <upcxx/detail/config.hpp>

namespace atl::rt {

/// Collects the message of an assertion that failed. Formatting is that of a standard stream; what this
/// header does not know itself is left to the operator<< of its type, for which the program has included
/// <ostream>.
class ATOLL_EXPORT assertion_failure {
 public:
  assertion_failure(char const* file, int line, char const* function, char const* condition) noexcept;
  assertion_failure(assertion_failure const&) = delete;
  assertion_failure& operator=(assertion_failure const&) = delete;
  ~assertion_failure();

  assertion_failure& operator<<(char const* text);
  assertion_failure& operator<<(std::string_view text);
  assertion_failure& operator<<(char value);
  assertion_failure& operator<<(bool value);
  assertion_failure& operator<<(int value);
  assertion_failure& operator<<(unsigned value);
  assertion_failure& operator<<(long value);
  assertion_failure& operator<<(unsigned long value);
  assertion_failure& operator<<(long long value);
  assertion_failure& operator<<(unsigned long long value);
  assertion_failure& operator<<(float value);
  assertion_failure& operator<<(double value);
  assertion_failure& operator<<(long double value);
  assertion_failure& operator<<(void const* value);
  assertion_failure& operator<<(std::ostream& (*manipulator)(std::ostream&));
  assertion_failure& operator<<(std::ios_base& (*manipulator)(std::ios_base&));
  template <typename T>
  requires(!std::is_arithmetic_v<T> && !std::is_pointer_v<std::decay_t<T>> &&
           !std::is_convertible_v<T const&, std::string_view>) assertion_failure&
  operator<<(T const& value) {
    stream() << value;
    return *this;
  }

  /// Prints all of it with the rank to standard error and aborts.
  [[noreturn]] void stop() noexcept;

 private:
  std::ostream& stream() noexcept;

  struct text;
  text* text_;
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
#if defined(UPCXX_CODEMODE) && UPCXX_CODEMODE
#define UPCXX_ASSERT(test, ...) ((void)0)
#else
#define UPCXX_ASSERT(test, ...) UPCXX_ASSERT_ALWAYS(test __VA_OPT__(, ) __VA_ARGS__)
#endif
