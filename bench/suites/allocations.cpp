#include "allocations.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdlib>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ATOLL_BENCH_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ATOLL_BENCH_SANITIZED 1
#endif

#if defined(__GLIBC__) && !defined(ATOLL_BENCH_SANITIZED)
#define ATOLL_BENCH_COUNTS 1
#endif

namespace {

bool counting = false;
std::uint64_t allocations = 0;

}  // namespace

#ifdef ATOLL_BENCH_COUNTS

// The C library's own names for what these replace. Every module of the process calls ours; `free` stays.
extern "C" {
void* __libc_malloc(std::size_t);                 // NOLINT(bugprone-reserved-identifier)
void* __libc_calloc(std::size_t, std::size_t);    // NOLINT(bugprone-reserved-identifier)
void* __libc_realloc(void*, std::size_t);         // NOLINT(bugprone-reserved-identifier)
void* __libc_memalign(std::size_t, std::size_t);  // NOLINT(bugprone-reserved-identifier)

void* malloc(std::size_t bytes) {
  if (counting) ++allocations;
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  if (counting) ++allocations;
  return __libc_calloc(count, bytes);
}
void* realloc(void* old, std::size_t bytes) {
  if (counting) ++allocations;
  return __libc_realloc(old, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  if (counting) ++allocations;
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) {
  if (counting) ++allocations;
  void* const block = __libc_memalign(alignment, bytes);
  if (block == nullptr) return ENOMEM;
  *out = block;
  return 0;
}
}

#endif

namespace atl::bench {

bool can_count_allocations() {
#ifdef ATOLL_BENCH_COUNTS
  return true;
#else
  return false;
#endif
}

void start_counting_allocations() {
  allocations = 0;
  counting = true;
}

std::uint64_t stop_counting_allocations() {
  counting = false;
  return allocations;
}

}  // namespace atl::bench
