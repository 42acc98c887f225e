#pragma once

/// Randomised tests whose every case follows from one number, or from the bytes that libFuzzer offers.
///
/// A program defines `run_case`, which takes all its decisions from `choices` and reports what is wrong with
/// `fail`. The driver runs cases one after another, and prints how to repeat the one that failed or crashed.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fuzz {

/// The decisions of one case.
class choices {
 public:
  /// Every decision follows from `seed`.
  explicit choices(std::uint64_t seed) : state_(seed) {}
  /// Decisions are taken from `bytes`; after their end, all are 0.
  choices(std::uint8_t const* bytes, std::size_t size) : next_(bytes), end_(bytes + size), by_bytes_(true) {}

  /// Uniform in [0, n); 0 if n is 0.
  std::uint64_t below(std::uint64_t n) { return n < 2 ? 0 : word(n) % n; }
  /// Uniform in [low, high].
  std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + below(high - low + 1); }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  /// 64 random bits.
  std::uint64_t bits() { return word(~std::uint64_t{0}); }
  /// A size in [0, limit], small ones much more often.
  std::size_t size(std::size_t limit) {
    std::size_t const magnitude = std::size_t{1} << below(static_cast<std::uint64_t>(bit_width(limit)) + 1);
    return static_cast<std::size_t>(below((magnitude < limit ? magnitude : limit) + 1));
  }
  /// True when there is nothing left to decide; never for a seed.
  bool exhausted() const { return by_bytes_ && next_ == end_; }

 private:
  static int bit_width(std::size_t n) {
    int width = 0;
    for (; n != 0; n >>= 1) ++width;
    return width;
  }
  /// Enough random bits for a number below `n`.
  std::uint64_t word(std::uint64_t n) {
    if (by_bytes_) {
      std::uint64_t value = 0;
      for (; n > 1 && next_ != end_; n >>= 8) value = value << 8 | *next_++;
      return value;
    }
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);  // splitmix64
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }

  std::uint64_t state_ = 0;
  std::uint8_t const* next_ = nullptr;
  std::uint8_t const* end_ = nullptr;
  bool by_bytes_ = false;
};

/// One case; defined by each program.
void run_case(choices& c);

/// Prints what is wrong and how to repeat the case, and ends the process.
[[noreturn]] void fail(std::string const& what);

inline void expect(bool condition, std::string const& what) {
  if (!condition) fail(what);
}

}  // namespace fuzz
