#pragma once

/// Words of 8 bytes that kernels and hosts of one machine share, in terms of the C++ memory model: every
/// operation here has system scope, so who else looks may be a kernel on another device, or a processor.
/// Where the host plays kernels they are operations of std::atomic_ref.

#include <atomic>
#include <cstdint>
#include <ctime>

#include <sched.h>

#include <atoll/base/config.hpp>

namespace atl {

/// A value and the number of the time it was written, which become visible together: no fence, no second
/// store.
struct alignas(16) stamped {
  std::uint64_t value;
  std::uint64_t stamp;
};

}  // namespace atl

// On devices in PTX, which costs a program less to compile than a library of atomics. Addresses are generic.
#ifdef __CUDA_ARCH__
#define ATOLL_ON_DEVICE(...) __VA_ARGS__
#define ATOLL_ON_HOST(...)
#else
#define ATOLL_ON_DEVICE(...)
#define ATOLL_ON_HOST(...) __VA_ARGS__
#endif

namespace atl::words {

/// What this thread is known to see, since what it synchronises with has seen it; cheaper than a look at the
/// word.
ATOLL_ANYWHERE inline std::uint64_t load_seen(std::uint64_t const* from) {
  return ATOLL_ON_DEVICE(*from)
      ATOLL_ON_HOST(std::atomic_ref(*const_cast<std::uint64_t*>(from)).load(std::memory_order_relaxed));
}

ATOLL_ANYWHERE inline std::uint64_t load_relaxed(std::uint64_t const* from) {
  std::uint64_t x;
  ATOLL_ON_DEVICE(asm volatile("ld.relaxed.sys.u64 %0, [%1];" : "=l"(x) : "l"(from) : "memory");)
  ATOLL_ON_HOST(x = std::atomic_ref(*const_cast<std::uint64_t*>(from)).load(std::memory_order_relaxed);)
  return x;
}

/// What was written before the store_release or add_release that gave the value is seen by what follows.
/// Costs no more than load_relaxed() while it is looked at (H200), unlike a fence, which takes 0.6 us even
/// where nothing is under way.
ATOLL_ANYWHERE inline std::uint64_t load_acquire(std::uint64_t const* from) {
  std::uint64_t x;
  ATOLL_ON_DEVICE(asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(x) : "l"(from) : "memory");)
  ATOLL_ON_HOST(x = std::atomic_ref(*const_cast<std::uint64_t*>(from)).load(std::memory_order_acquire);)
  return x;
}

ATOLL_ANYWHERE inline void store_relaxed(std::uint64_t* to, std::uint64_t x) {
  ATOLL_ON_DEVICE(asm volatile("st.relaxed.sys.u64 [%0], %1;" ::"l"(to), "l"(x) : "memory");)
  ATOLL_ON_HOST(std::atomic_ref(*to).store(x, std::memory_order_relaxed);)
}

ATOLL_ANYWHERE inline void store_release(std::uint64_t* to, std::uint64_t x) {
  ATOLL_ON_DEVICE(asm volatile("st.release.sys.u64 [%0], %1;" ::"l"(to), "l"(x) : "memory");)
  ATOLL_ON_HOST(std::atomic_ref(*to).store(x, std::memory_order_release);)
}

/// Nothing is given back, so nothing is waited for.
ATOLL_ANYWHERE inline void add_release(std::uint64_t* to, std::uint64_t x) {
  ATOLL_ON_DEVICE(asm volatile("red.release.sys.add.u64 [%0], %1;" ::"l"(to), "l"(x) : "memory");)
  ATOLL_ON_HOST(std::atomic_ref(*to).fetch_add(x, std::memory_order_release);)
}

/// Gives back what was there. Acquire only: whose stores others are to see has a fence before it, which waits
/// for them, as a release would. Where the host plays kernels it releases, too, since fences do not there.
ATOLL_ANYWHERE inline std::uint64_t fetch_add_acquire(std::uint64_t* at, std::uint64_t x) {
  std::uint64_t before;
  ATOLL_ON_DEVICE(asm volatile("atom.acquire.sys.add.u64 %0, [%1], %2;"
                               : "=l"(before)
                               : "l"(at), "l"(x)
                               : "memory");)
  ATOLL_ON_HOST(before = std::atomic_ref(*at).fetch_add(x, std::memory_order_acq_rel);)
  return before;
}

// Give back what was there; acquire and release.

ATOLL_ANYWHERE inline std::uint64_t fetch_add(std::uint64_t* at, std::uint64_t x) {
  std::uint64_t before;
  ATOLL_ON_DEVICE(asm volatile("atom.acq_rel.sys.add.u64 %0, [%1], %2;"
                               : "=l"(before)
                               : "l"(at), "l"(x)
                               : "memory");)
  ATOLL_ON_HOST(before = std::atomic_ref(*at).fetch_add(x, std::memory_order_acq_rel);)
  return before;
}

ATOLL_ANYWHERE inline std::uint64_t exchange(std::uint64_t* at, std::uint64_t x) {
  std::uint64_t before;
  ATOLL_ON_DEVICE(asm volatile("atom.acq_rel.sys.exch.b64 %0, [%1], %2;"
                               : "=l"(before)
                               : "l"(at), "l"(x)
                               : "memory");)
  ATOLL_ON_HOST(before = std::atomic_ref(*at).exchange(x, std::memory_order_acq_rel);)
  return before;
}

/// x where there was `expected`.
ATOLL_ANYWHERE inline std::uint64_t compare_exchange(std::uint64_t* at, std::uint64_t expected,
                                                     std::uint64_t x) {
  std::uint64_t before;
  ATOLL_ON_DEVICE(asm volatile("atom.acq_rel.sys.cas.b64 %0, [%1], %2, %3;"
                               : "=l"(before)
                               : "l"(at), "l"(expected), "l"(x)
                               : "memory");)
  ATOLL_ON_HOST(before = expected; std::atomic_ref(*at).compare_exchange_strong(
      before, x, std::memory_order_acq_rel, std::memory_order_acquire);)
  return before;
}

/// Makes it at least x. Nothing is given back, so nothing is waited for; orders nothing else.
ATOLL_ANYWHERE inline void raise(std::uint64_t* at, std::uint64_t x) {
  ATOLL_ON_DEVICE(asm volatile("red.relaxed.sys.max.u64 [%0], %1;" ::"l"(at), "l"(x) : "memory");)
  ATOLL_ON_HOST(std::atomic_ref const word(*at); std::uint64_t before = word.load(std::memory_order_relaxed);
                while (before < x && !word.compare_exchange_weak(before, x, std::memory_order_relaxed)){})
}

/// What this thread has written, and seen, before is visible to whoever sees what it writes after.
ATOLL_ANYWHERE inline void fence() {
  ATOLL_ON_DEVICE(asm volatile("fence.acq_rel.sys;" ::: "memory");)
  // Not a fence of C++: ThreadSanitizer knows none. All that is written after one here is written by
  // store_release.
}

/// Both at once, without order towards other memory.
ATOLL_ANYWHERE inline void store_stamped(stamped* to, std::uint64_t value, std::uint64_t stamp) {
  // 16 bytes are one access from PTX 8.3 on (CUDA 12.3); hardware has done so all along.
#if defined(__CUDA_ARCH__) && \
    (__CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 3))
  asm volatile("{ .reg .b128 both; mov.b128 both, {%1, %2}; st.relaxed.sys.b128 [%0], both; }" ::"l"(to),
               "l"(value), "l"(stamp)
               : "memory");
#elif defined(__CUDA_ARCH__)
  asm volatile("st.volatile.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(value), "l"(stamp) : "memory");
#else
  store_relaxed(&to->value, value);
  store_release(&to->stamp, stamp);
#endif
}

/// A stamp, and a value that was written with it or later: later only where the host plays kernels, or has
/// written.
ATOLL_ANYWHERE inline stamped load_stamped(stamped const* from) {
  stamped x;
#if defined(__CUDA_ARCH__) && \
    (__CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 3))
  asm volatile("{ .reg .b128 both; ld.relaxed.sys.b128 both, [%2]; mov.b128 {%0, %1}, both; }"
               : "=l"(x.value), "=l"(x.stamp)
               : "l"(from)
               : "memory");
#elif defined(__CUDA_ARCH__)
  asm volatile("ld.volatile.v2.u64 {%0, %1}, [%2];" : "=l"(x.value), "=l"(x.stamp) : "l"(from) : "memory");
#else
  x.stamp = load_acquire(&from->stamp);
  x.value = load_relaxed(&from->value);
#endif
  return x;
}

ATOLL_ANYWHERE inline std::uint64_t now_ns() {
  std::uint64_t ns;
  ATOLL_ON_DEVICE(asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));)
  ATOLL_ON_HOST(timespec now; clock_gettime(CLOCK_MONOTONIC, &now);
                ns = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
                     static_cast<std::uint64_t>(now.tv_nsec);)
  return ns;
}

#ifndef __CUDA_ARCH__
/// Lets others have the core. A yield that lasts long has given it to somebody who computes, and who keeps it for
/// milliseconds after each of the next ones, too; whoever sleeps instead has it back at once, since it has used less
/// than its share.
inline void yield_or_sleep() {
  constexpr std::uint64_t long_yield_ns = 1'000'000;
  constexpr std::uint64_t wary_ns = 100'000'000;
  static thread_local std::uint64_t wary_until_ns = 0;
  if (wary_until_ns == 0 || now_ns() > wary_until_ns) {
    std::uint64_t const before = now_ns();
    sched_yield();
    std::uint64_t const after = now_ns();
    wary_until_ns = after - before > long_yield_ns ? after + wary_ns : 0;
  } else {
    timespec const moment{0, 20'000};
    nanosleep(&moment, nullptr);
  }
}
#endif

/// Between two looks at a word.
ATOLL_ANYWHERE inline void between_looks() { ATOLL_ON_HOST(yield_or_sleep();) }

}  // namespace atl::words
