#include "support/pattern.hpp"

namespace multirank {

void fill_pattern(std::uint8_t* bytes, std::size_t count, int rank, int salt) {
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] = pattern(rank, i, salt);
  }
}

std::size_t first_mismatch(std::uint8_t const* bytes, std::size_t count, int rank, int salt) {
  for (std::size_t i = 0; i < count; ++i) {
    if (bytes[i] != pattern(rank, i, salt)) {
      return i;
    }
  }
  return count;
}

bool all_guard(std::uint8_t const* begin, std::uint8_t const* end) {
  for (; begin != end; ++begin) {
    if (*begin != guard_byte) {
      return false;
    }
  }
  return true;
}

}  // namespace multirank
