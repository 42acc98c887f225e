#pragma once

#include <locale.h>
#include <stdlib.h>

namespace atl {

/// As strtod(3), but always with a point: programs choose the locale of their user, whose comma is none of what settings are written with.
inline double read_real(char const* text, char** rest = nullptr) noexcept {
  static locale_t const plain = ::newlocale(LC_ALL_MASK, "C", nullptr);
  return plain != nullptr ? ::strtod_l(text, rest, plain) : ::strtod(text, rest);
}

}  // namespace atl
