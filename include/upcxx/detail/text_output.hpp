#pragma once

/// A text that is put together by <<, for headers that must not include <ostream>.

#include <cstddef>
#include <iosfwd>
#include <string_view>
#include <type_traits>

#include <upcxx/detail/config.hpp>

namespace atl::rt {

/// Formats like a standard stream, with boolalpha; what this header does not know itself is left to the
/// operator<< of its type, for which the program has included <ostream>.
class ATOLL_EXPORT text_output {
 public:
  text_output() noexcept;
  text_output(text_output const&) = delete;
  text_output& operator=(text_output const&) = delete;
  ~text_output();

  text_output& operator<<(char const* value);
  text_output& operator<<(std::string_view value);
  text_output& operator<<(signed char const* value);  // text, like that of unsigned char
  text_output& operator<<(unsigned char const* value);
  text_output& operator<<(char value);
  text_output& operator<<(signed char value);
  text_output& operator<<(unsigned char value);
  text_output& operator<<(bool value);
  text_output& operator<<(short value);
  text_output& operator<<(unsigned short value);
  text_output& operator<<(int value);
  text_output& operator<<(unsigned value);
  text_output& operator<<(long value);
  text_output& operator<<(unsigned long value);
  text_output& operator<<(long long value);
  text_output& operator<<(unsigned long long value);
  text_output& operator<<(float value);
  text_output& operator<<(double value);
  text_output& operator<<(long double value);
  text_output& operator<<(void const* value);
  text_output& operator<<(std::nullptr_t) { return *this << static_cast<void const*>(nullptr); }
  text_output& operator<<(std::ostream& (*manipulator)(std::ostream&));
  text_output& operator<<(std::ios_base& (*manipulator)(std::ios_base&));
  template <typename T>
  requires(!std::is_arithmetic_v<T> && !std::is_pointer_v<std::decay_t<T>> &&
           !std::is_convertible_v<T const&, std::string_view>) text_output&
  operator<<(T const& value) {
    stream() << value;
    return *this;
  }

  /// What was written; valid until the next <<.
  std::string_view text();

 private:
  std::ostream& stream() noexcept;

  struct buffer;
  buffer* buffer_;
};

}  // namespace atl::rt
