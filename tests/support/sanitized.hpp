#pragma once

/// Under AddressSanitizer and ThreadSanitizer all takes several times as long, and what they look at is in few rounds as in many.

namespace atoll_test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

}  // namespace atoll_test
