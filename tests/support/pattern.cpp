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

void fill_words(std::uint64_t* words, std::size_t count, std::uint64_t first, std::uint64_t step) {
  for (std::size_t i = 0; i < count; ++i) {
    words[i] = first + i * step;
  }
}

std::size_t first_wrong_word(std::uint64_t const* words, std::size_t count, std::uint64_t first,
                             std::uint64_t step) {
  for (std::size_t i = 0; i < count; ++i) {
    if (words[i] != first + i * step) {
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
