#pragma once

/// Payloads that are read while their sender still writes them. Of a large one both copies, the sender's and the
/// reader's, so take little longer than one.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <atoll/base/config.hpp>

namespace atl::transport {

/// A sender shows so many bytes at a time: few enough that its reader soon has work, and that what it reads is
/// in a cache; many enough that the counter's line does not matter.
inline constexpr std::size_t growth_bytes = 32768;
/// Below this one copy after the other is as fast.
inline constexpr std::size_t grows_from = 16384;

/// How many bytes of the payload at `base` its sender has written, in the line before it.
inline std::atomic<std::uint64_t>& written_of(std::byte const* base) noexcept {
  return *reinterpret_cast<std::atomic<std::uint64_t>*>(const_cast<std::byte*>(base) - 56);
}

/// Waits until more than `count` bytes are written, and returns how many are. The sender does nothing else
/// meanwhile, so this makes no progress.
ATOLL_EXPORT std::size_t await_written(std::byte const* base, std::size_t count) noexcept;

}  // namespace atl::transport
