#pragma once

/// How much a network of this folder has under way at once, and how long what it copies may be.

#include <cstddef>
#include <cstdint>

namespace atl::transport::ofi {

/// Messages of a lane to a peer that it has not taken yet. A peer says what it has taken with what it sends, or for itself
/// after half of them.
inline constexpr std::size_t window = 64;
inline constexpr std::size_t most_late = 32;
/// Puts and gets.
inline constexpr std::size_t most_memory = 64;
/// Messages that receivers keep, of all peers.
inline constexpr std::size_t most_kept = 512;

/// Receives that are posted: for all peers together, or for each.
inline constexpr std::size_t shared_receives = 128;
inline constexpr std::size_t own_receives = 16;
/// Each takes a descriptor of the process over TCP, and own_receives where they are not shared.
inline constexpr std::size_t most_connections = 512;

/// Of words to a peer with which there is no connection, where they fail, one a poll. A wire below that has broken is made anew
/// after some hundredths of a second only (ofi_rxm).
inline constexpr std::uint32_t most_repeats = 1U << 16;

inline constexpr std::size_t small_payload = 2048;
inline constexpr std::size_t large_payload = 8192;
inline constexpr std::size_t longest_inject = 256;

}  // namespace atl::transport::ofi
