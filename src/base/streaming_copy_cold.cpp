#include "base/streaming_copy_cold.hpp"

#include <cstdint>
#include <cstring>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace atl {

// A core waits for memory most of the time. What it writes past the caches it need not read first; and it fetches more at a time from several
// pages in turn, as what fetches ahead keeps to one page. Whole lines written at once leave more of its few buffers for what it fetches.
// Measured: docs/performance.md.
#ifdef __x86_64__
namespace cold_copies {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t group = 4 * page;
constexpr std::size_t step = 128;
constexpr std::size_t line = 64;

/// Asks for the same place in the next group, which does no harm where nothing lies. `Caches`: 3 for all, 2 for all but the first.
template <int Caches>
void fetch_next(std::byte const* from) noexcept {
  for (std::size_t at = 0; at < step; at += line) __builtin_prefetch(from + group + at, 0, Caches);
}

/// These two return how much they have copied: whole groups. They are no template: what uses more of a core than others is inlined into its
/// like only.
std::size_t copy_groups(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
  std::size_t done = 0;
  for (; bytes - done >= group; done += group) {
    for (std::size_t in_page = 0; in_page < page; in_page += step) {
      for (std::size_t at = done + in_page; at < done + group; at += page) {
        fetch_next<3>(from + at);
        for (std::size_t i = at; i < at + step; i += sizeof(__m128i))
          _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                           _mm_loadu_si128(reinterpret_cast<__m128i const*>(from + i)));
      }
    }
  }
  return done;
}

[[gnu::target("avx512f")]] std::size_t copy_groups_by_lines(std::byte* to, std::byte const* from,
                                                            std::size_t bytes) noexcept {
  std::size_t done = 0;
  for (; bytes - done >= group; done += group) {
    for (std::size_t in_page = 0; in_page < page; in_page += step) {
      for (std::size_t at = done + in_page; at < done + group; at += page) {
        fetch_next<2>(from + at);
        for (std::size_t i = at; i < at + step; i += line)
          _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), _mm512_loadu_si512(from + i));
      }
    }
  }
  return done;
}

bool writes_lines() noexcept {
  static bool const does = __builtin_cpu_supports("avx512f");
  return does;
}

}  // namespace
}  // namespace cold_copies
#endif

void streaming_copy_cold(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
  std::size_t done = 0;
#ifdef __x86_64__
  // Lines begin at multiples of their length.
  bool const by_lines =
      cold_copies::writes_lines() && reinterpret_cast<std::uintptr_t>(to) % cold_copies::line == 0;
  done = by_lines ? cold_copies::copy_groups_by_lines(to, from, bytes)
                  : cold_copies::copy_groups(to, from, bytes);
  _mm_sfence();
#endif
  if (done != bytes) std::memcpy(to + done, from + done, bytes - done);
}

}  // namespace atl
