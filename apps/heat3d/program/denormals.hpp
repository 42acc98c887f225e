#pragma once

/// Numbers below what a double holds in full.

#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace heat3d {

/// Has the calling thread's processor take them for zero, and threads that it starts from then on; false where that is not known how.
/// Ahead of the heat front temperatures fall tenfold per cell: such numbers take a hundred times longer to compute with, and
/// zero is as good there.
inline bool flush_denormals() {
#if defined(__x86_64__)
  constexpr unsigned flush_to_zero_and_denormals_are_zero = 0x8040;
  _mm_setcsr(_mm_getcsr() | flush_to_zero_and_denormals_are_zero);
  return true;
#elif defined(__aarch64__)
  constexpr std::uint64_t flush_to_zero = std::uint64_t{1} << 24;  // of what is read, and of results
  std::uint64_t control = 0;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  asm volatile("msr fpcr, %0" : : "r"(control | flush_to_zero));
  return true;
#else
  return false;
#endif
}

}  // namespace heat3d
