#pragma once

/// Copies past the caches, for what another core reads next: it comes from memory faster than out of the cache
/// of the core that wrote it.

#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace atl {

/// As memcpy. Complete when it returns: later stores, as those that announce the data, are seen after them.
inline void streaming_copy(void* to, void const* from, std::size_t bytes) noexcept {
#ifdef __SSE2__
  auto* out = static_cast<std::byte*>(to);
  auto const* in = static_cast<std::byte const*>(from);
  if (reinterpret_cast<std::uintptr_t>(out) % sizeof(__m128i) == 0) {
    // One line at a time, so that it leaves the core as a whole.
    for (; bytes >= 64; bytes -= 64, in += 64, out += 64) {
      __m128i line[4];
      for (int i = 0; i < 4; ++i) line[i] = _mm_loadu_si128(reinterpret_cast<__m128i const*>(in) + i);
      for (int i = 0; i < 4; ++i) _mm_stream_si128(reinterpret_cast<__m128i*>(out) + i, line[i]);
    }
  }
  std::memcpy(out, in, bytes);
  _mm_sfence();
#else
  std::memcpy(to, from, bytes);
#endif
}

}  // namespace atl
