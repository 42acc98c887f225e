#pragma once

/// How much a network of this folder has under way at once, and how long what it copies may be.

#include <cstddef>
#include <cstdint>

#include "transport/network_types.hpp"

namespace atl::transport::ofi {

/// Messages of a lane to a peer that it has not taken yet. A peer says what it has taken with what it sends, or for itself
/// after half of them.
inline constexpr std::size_t window = 64;
inline constexpr std::size_t most_late = 32;
static_assert(most_late >= least_late);
/// Of messages that receivers keep, of all peers, as they lie in receives.
inline constexpr std::size_t most_kept_bytes = std::size_t{4} << 20;
/// Messages to a peer that lie in the longest blocks.
inline constexpr std::size_t most_long = 8;

/// Receives that are posted: for all peers together, long or not, or for each. Who finds none waits in its connection.
inline constexpr std::size_t long_receives = 16;
inline constexpr std::size_t shared_receives = 128;
inline constexpr std::size_t own_receives = 16;
/// Each takes a descriptor of the process over TCP, and own_receives where they are not shared.
inline constexpr std::size_t most_connections = 512;

/// Of words to a peer with which there is no connection, where they fail, one a poll. A wire below that has broken is made anew
/// after some hundredths of a second only (ofi_rxm).
inline constexpr std::uint32_t most_repeats = 1U << 16;

inline constexpr std::size_t small_payload = 2048;
inline constexpr std::size_t large_payload = 8192;
/// A piece of the engine's, with what it writes around it.
inline constexpr std::size_t long_payload = (std::size_t{64} << 10) + 1024;
inline constexpr std::size_t longest_inject = 256;

}  // namespace atl::transport::ofi
