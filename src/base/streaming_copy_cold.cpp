#include "base/streaming_copy_cold.hpp"

#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace atl {

// A core waits for memory most of the time. What it writes past the caches it need not read first; and it fetches more at a time from several
// pages in turn, as what fetches ahead keeps to one page. Measured: docs/performance.md.
void streaming_copy_cold(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
  std::size_t done = 0;
#ifdef __SSE2__
  constexpr std::size_t page = 4096;
  constexpr std::size_t pages = 4;
  constexpr std::size_t step = 128;
  constexpr std::size_t line = 64;
  for (; bytes - done >= pages * page; done += pages * page) {
    for (std::size_t in_page = 0; in_page < page; in_page += step) {
      for (std::size_t p = 0; p < pages; ++p) {
        std::byte* const target = to + done + p * page + in_page;
        std::byte const* const source = from + done + p * page + in_page;
        // Of no harm where nothing lies.
        for (std::size_t at = 0; at < step; at += line)
          _mm_prefetch(reinterpret_cast<char const*>(source) + pages * page + at, _MM_HINT_T0);
        for (std::size_t at = 0; at < step; at += sizeof(__m128i))
          _mm_stream_si128(reinterpret_cast<__m128i*>(target + at),
                           _mm_loadu_si128(reinterpret_cast<__m128i const*>(source + at)));
      }
    }
  }
  _mm_sfence();
#endif
  if (done != bytes) std::memcpy(to + done, from + done, bytes - done);
}

}  // namespace atl
