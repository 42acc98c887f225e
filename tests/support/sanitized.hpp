#pragma once

/// Under AddressSanitizer and ThreadSanitizer all takes several times as long, and what they look at is in few rounds as in many.

// GCC says so by macros, Clang by features.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ATOLL_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ATOLL_TEST_SANITIZED 1
#endif
#endif

namespace atoll_test {

#if defined(ATOLL_TEST_SANITIZED)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

}  // namespace atoll_test
