#pragma once

/// Blocks that hold arrived messages: a record and, behind it, room for a payload of up to one ring message.
/// Free blocks are kept per thread, so taking and returning one is a few instructions.

#include <cstddef>

#include <atoll/transport/message.hpp>

namespace atl::transport {

/// Room behind the record in each size class.
inline constexpr std::size_t pooled_room[] = {64, 256, 2048};

/// A record with room for `bytes` of payload behind it (0: none needed). `base` points to the room.
message* take_message(std::size_t bytes);
void return_message(message* record) noexcept;

}  // namespace atl::transport
