#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <string>

#include "base/error.hpp"

namespace atl {

std::string format_list(char const* pattern, va_list args) {
  va_list copy;
  va_copy(copy, args);
  int const length = std::vsnprintf(nullptr, 0, pattern, copy);
  va_end(copy);
  std::string text(length > 0 ? static_cast<std::size_t>(length) : 0, '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, args);
  return text;
}

std::string format(char const* pattern, ...) {
  va_list args;
  va_start(args, pattern);
  std::string text = format_list(pattern, args);
  va_end(args);
  return text;
}

}  // namespace atl
