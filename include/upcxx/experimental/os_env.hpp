#pragma once

/// experimental::os_env: settings of a program from environment variables.

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <type_traits>

#include <upcxx/detail/config.hpp>

namespace atl::rt {

/// Value of a variable, from the console that started the job if that has one; null if unset.
ATOLL_EXPORT char const* environment(char const* name) noexcept;
/// Its value as a number or yes/no. They stop the job with the text if it is none.
ATOLL_EXPORT std::int64_t environment_integer(char const* name, char const* text);
ATOLL_EXPORT std::uint64_t environment_unsigned(char const* name, char const* text);
ATOLL_EXPORT double environment_real(char const* name, char const* text);
ATOLL_EXPORT bool environment_boolean(char const* name, char const* text);
/// A size in bytes: "64M"; a bare number is in units of `unit` bytes.
ATOLL_EXPORT std::int64_t environment_size(char const* name, char const* text, std::size_t unit);
[[noreturn]] ATOLL_EXPORT ATOLL_COLD void environment_refused(char const* name, char const* text);

}  // namespace atl::rt

namespace upcxx::inline UPCXX_MODE::experimental {

/// Value of the environment variable `name`, or `otherwise` if it is unset or, except for strings, empty.
/// Reads what getenv_console reads. T is std::string, a number, bool (yes, no, 1, 0, ...), or a type with
/// operator>> for streams (the program includes <sstream>). Integers are decimal, or hexadecimal after 0x. Stops the
/// job with a message if the text is no T.
template <typename T>
T os_env(std::string const& name, T const& otherwise) {
  char const* const text = atl::rt::environment(name.c_str());
  if constexpr (std::is_same_v<T, std::string>) {
    return text != nullptr ? T(text) : otherwise;
  } else {
    if (text == nullptr || *text == '\0') return otherwise;
    if constexpr (std::is_same_v<T, bool>) {
      return atl::rt::environment_boolean(name.c_str(), text);
    } else if constexpr (std::is_unsigned_v<T>) {
      std::uint64_t const value = atl::rt::environment_unsigned(name.c_str(), text);
      if (static_cast<T>(value) != value) atl::rt::environment_refused(name.c_str(), text);
      return static_cast<T>(value);
    } else if constexpr (std::is_integral_v<T>) {
      std::int64_t const value = atl::rt::environment_integer(name.c_str(), text);
      if (static_cast<T>(value) != value) atl::rt::environment_refused(name.c_str(), text);
      return static_cast<T>(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(atl::rt::environment_real(name.c_str(), text));
    } else {
      // Named through T, so that the stream need be complete only where this is used.
      std::conditional_t<std::is_void_v<T>, void, std::istringstream> in(text);
      T value{};
      if (!(in >> value)) atl::rt::environment_refused(name.c_str(), text);
      return value;
    }
  }
}

/// The same; a value-initialised T if the variable is unset.
template <typename T>
T os_env(std::string const& name) {
  return experimental::os_env<T>(name, T());
}

/// A size in bytes, as "64M" or "1.5GB". A bare number counts `mem_size_multiplier` bytes; 0 stands for plain
/// numbers without units.
inline std::int64_t os_env(std::string const& name, std::int64_t const& otherwise,
                           std::size_t mem_size_multiplier) {
  char const* const text = atl::rt::environment(name.c_str());
  if (text == nullptr || *text == '\0') return otherwise;
  return mem_size_multiplier == 0 ? atl::rt::environment_integer(name.c_str(), text)
                                  : atl::rt::environment_size(name.c_str(), text, mem_size_multiplier);
}

}  // namespace upcxx::inline UPCXX_MODE::experimental
