#pragma once

/// Copies to memory that others look at meanwhile.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace atl {

/// memcpy, also for nothing; but 8 bytes, which may be a signal, are written at once, and after all that was written before: kernels
/// that the host plays load them with acquire, and so are theirs read here.
inline void copy_watched(void* to, void const* from, std::size_t bytes) {
  using word = std::uint64_t;
  constexpr auto is_word = [](void const* p) {
    return reinterpret_cast<std::uintptr_t>(p) % alignof(word) == 0;
  };
  if (bytes != sizeof(word) || !is_word(to)) {
    if (bytes != 0) std::memcpy(to, from, bytes);
    return;
  }
  word value = 0;
  if (is_word(from)) {
    value = std::atomic_ref(*static_cast<word*>(const_cast<void*>(from))).load(std::memory_order_acquire);
  } else {
    std::memcpy(&value, from, sizeof value);
  }
  std::atomic_ref(*static_cast<word*>(to)).store(value, std::memory_order_release);
}

}  // namespace atl
