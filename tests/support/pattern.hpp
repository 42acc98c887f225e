#pragma once

/// Bytes whose writer and place can be told. What fills and compares whole buffers is compiled once, optimised in every preset:
/// it was two thirds of what tests of large transfers did under AddressSanitizer.

#include <cstddef>
#include <cstdint>

namespace multirank {

/// A byte that depends on the writer, the position and a salt, without a short period.
constexpr std::uint8_t pattern(int rank, std::size_t offset, int salt = 0) {
  std::uint64_t x = (offset + 1) * 0x9E3779B97F4A7C15ull +
                    static_cast<std::uint64_t>(rank + 1) * 0xC2B2AE3D27D4EB4Full +
                    static_cast<std::uint64_t>(salt + 1) * 0x165667B19E3779F9ull;
  x ^= x >> 29;
  x *= 0xBF58476D1CE4E5B9ull;
  return static_cast<std::uint8_t>(x >> 40);
}

void fill_pattern(std::uint8_t* bytes, std::size_t count, int rank, int salt = 0);

/// Offset of the first wrong byte, or `count` when all are right.
std::size_t first_mismatch(std::uint8_t const* bytes, std::size_t count, int rank, int salt = 0);

/// Words of which each is `step` more than the one before.
void fill_words(std::uint64_t* words, std::size_t count, std::uint64_t first, std::uint64_t step = 1);

/// Position of the first wrong word, or `count` when all are right.
std::size_t first_wrong_word(std::uint64_t const* words, std::size_t count, std::uint64_t first,
                             std::uint64_t step = 1);

constexpr std::uint8_t guard_byte = 0xA5;

/// True when all of [begin, end) still holds the guard value.
bool all_guard(std::uint8_t const* begin, std::uint8_t const* end);

}  // namespace multirank
