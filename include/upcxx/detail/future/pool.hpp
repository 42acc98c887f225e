#pragma once

/// Memory of future cells: per-thread free lists, one per size class, popped and pushed inline.
///
/// Every cell is an allocation of its own from `operator new`, so it may be freed on any thread: it joins
/// that thread's list, or goes back to the global allocator when the list is full. A thread without lists
/// (before its first cell, and again once its thread-locals are gone) points at `closed_pool`, whose bins
/// are empty and have no room, so that the inline code needs no null check. docs/design/futures.md

#include <cstddef>
#include <cstdint>
#include <new>

#include <upcxx/detail/config.hpp>

#if defined(__SANITIZE_ADDRESS__)
#define ATOLL_POOLS_CELLS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ATOLL_POOLS_CELLS 0
#endif
#endif
#ifndef ATOLL_POOLS_CELLS
#define ATOLL_POOLS_CELLS 1
#endif

namespace atl::fut {

/// Class k holds blocks of k * pool_granule bytes. Class 0 means "not pooled".
inline constexpr std::size_t pool_granule = 16;
inline constexpr std::size_t pool_classes = 17;

struct free_block {
  free_block* next;
};

struct pool_bin {
  free_block* head;
  std::size_t room;  ///< how many more blocks the list takes
};

struct cell_pool {
  pool_bin bins[pool_classes];
};

/// The calling thread's lists. Never null, never dereferenced by another thread.
extern ATOLL_EXPORT ATOLL_INITIAL_EXEC constinit thread_local cell_pool* current_pool;

/// The list is empty: takes a block from the global allocator, opening the thread's lists if need be.
ATOLL_EXPORT ATOLL_COLD void* pool_pop_slow(std::size_t size_class);
/// The list is full or closed: opens the thread's lists, or gives the block to the global allocator.
ATOLL_EXPORT ATOLL_COLD void pool_push_slow(void* block, std::size_t size_class) noexcept;

/// Size class of a type, 0 when it is too large or over-aligned. Under AddressSanitizer nothing is pooled,
/// so that a use after free is seen.
constexpr std::uint8_t pool_class_of(std::size_t bytes, std::size_t alignment) {
  std::size_t const size_class = (bytes + pool_granule - 1) / pool_granule;
  bool const pooled = ATOLL_POOLS_CELLS != 0 && alignment <= pool_granule && size_class < pool_classes;
  return static_cast<std::uint8_t>(pooled ? size_class : 0);
}

inline void* pool_pop(std::size_t size_class) {
  pool_bin& bin = current_pool->bins[size_class];
  free_block* const block = bin.head;
  if (block == nullptr) [[unlikely]] {
    return pool_pop_slow(size_class);
  }
  bin.head = block->next;
  ++bin.room;
  return block;
}

inline void pool_push(void* block, std::size_t size_class) noexcept {
  pool_bin& bin = current_pool->bins[size_class];
  if (bin.room == 0) [[unlikely]] {
    return pool_push_slow(block, size_class);
  }
  --bin.room;
  bin.head = ::new (block) free_block{bin.head};
}

/// Storage for one object of type T.
template <class T>
void* allocate_for() {
  constexpr std::uint8_t size_class = pool_class_of(sizeof(T), alignof(T));
  if constexpr (size_class != 0) {
    return pool_pop(size_class);
  } else if constexpr (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
    return ::operator new (sizeof(T), std::align_val_t{alignof(T)});
  } else {
    return ::operator new(sizeof(T));
  }
}

/// Returns what `allocate_for<T>()` gave. The object in it has been destroyed.
template <class T>
void deallocate_for(void* storage) noexcept {
  constexpr std::uint8_t size_class = pool_class_of(sizeof(T), alignof(T));
  if constexpr (size_class != 0) {
    pool_push(storage, size_class);
  } else if constexpr (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
    ::operator delete (storage, std::align_val_t{alignof(T)});
  } else {
    ::operator delete(storage);
  }
}

/// Objects of such a class are pooled; a constructor that throws gives the storage back.
template <class T>
struct pooled {
  static void* operator new(std::size_t) { return allocate_for<T>(); }
  static void operator delete(void* storage) noexcept { deallocate_for<T>(storage); }
};

}  // namespace atl::fut
