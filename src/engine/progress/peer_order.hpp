#pragma once

/// Tells ThreadSanitizer what it cannot see: order between threads of this process that goes through a peer.
///
/// A thread sends a call, the peer answers, and another thread takes the answer: what the first did before
/// the call happens before what the second does after the answer. The sanitizer follows stores of its own
/// process only. So everything that leaves for peers is taken to come before everything that arrives from
/// them afterwards. That hides races between threads that only an unrelated message lies between; the
/// transport's own tests, with ranks as threads, go without it.

#if defined(__SANITIZE_THREAD__)
#define ATOLL_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ATOLL_THREAD_SANITIZER 1
#endif
#endif

#if defined(ATOLL_THREAD_SANITIZER)
extern "C" void __tsan_acquire(void* address);  // NOLINT(bugprone-reserved-identifier)
extern "C" void __tsan_release(void* address);  // NOLINT(bugprone-reserved-identifier)
#endif

namespace atl::engine {

#if defined(ATOLL_THREAD_SANITIZER)
/// Stands for all peers. Not an atomic: a store to one would replace what was released before.
inline char all_peers;
#endif

/// Call it before something becomes visible to peers.
inline void leaves_for_peers() {
#if defined(ATOLL_THREAD_SANITIZER)
  __tsan_release(&all_peers);
#endif
}

/// Call it after something of a peer's was seen.
inline void came_from_peers() {
#if defined(ATOLL_THREAD_SANITIZER)
  __tsan_acquire(&all_peers);
#endif
}

}  // namespace atl::engine
