#pragma once

namespace atl {

/// Tells the core that this is a spin loop.
inline void cpu_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

/// Asks for a cache line in writable state before it is needed, so that the store does not wait for it.
inline void prefetch_for_write(void const* line) noexcept {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<char const*>(line)));
#else
  __builtin_prefetch(line, 1);
#endif
}

}  // namespace atl
