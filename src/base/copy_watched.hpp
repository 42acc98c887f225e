#pragma once

/// Copies to memory that others look at meanwhile.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace atl {

/// A copy of one word; false, and nothing was done, if the places are none of such.
template <class Word>
bool copy_word(void* to, void const* from) noexcept {
  constexpr auto is_word = [](void const* p) {
    return reinterpret_cast<std::uintptr_t>(p) % alignof(Word) == 0;
  };
  if (!is_word(to)) return false;
  Word value = 0;
  if (is_word(from)) {
    value = std::atomic_ref(*static_cast<Word*>(const_cast<void*>(from))).load(std::memory_order_acquire);
  } else {
    std::memcpy(&value, from, sizeof value);
  }
  std::atomic_ref(*static_cast<Word*>(to)).store(value, std::memory_order_release);
  return true;
}

/// memcpy, also for nothing; but a word, which may be a signal, is written once, and after all that was written before. memcpy may write
/// it twice, as glibc's does, and whoever has seen a signal and reset it would see it again. Kernels that the host plays load such words
/// with acquire, and so are theirs read here.
inline void copy_watched(void* to, void const* from, std::size_t bytes) noexcept {
  if (bytes == 8 && copy_word<std::uint64_t>(to, from)) return;
  if (bytes == 4 && copy_word<std::uint32_t>(to, from)) return;
  if (bytes != 0) std::memcpy(to, from, bytes);
}

}  // namespace atl
